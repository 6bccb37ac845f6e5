"""Reads one attention row per layer while the model runs on SDPA (DESIGN: reading attention without paying for it).

Asking transformers for all attention matrices forces the eager kernel and keeps T x T numbers for every layer and
head. One row is enough: the last query token's. The function registered here calls transformers' own SDPA function
for the output and, next to it, computes ``softmax(q_last K^T * scale)`` for that one query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import torch
from torch import nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

#: The name under which the function is registered: what a model's text layers use in place of "sdpa".
SDPA_WITH_LAST_ROW = "sdpa_with_last_row"


@dataclass
class AttentionRows:
    """The rows of one forward pass. ``rows[i]`` is (B, T) float32: layer i's last query token, mean over heads."""

    layer_of: dict[int, int]  # id of an attention module -> layer
    rows: dict[int, torch.Tensor] = field(default_factory=dict)

    def stacked(self) -> torch.Tensor:
        """(L, B, T). Raises ``ValueError`` when some layer did not pass through the attention interface."""
        missing = sorted(set(self.layer_of.values()) - set(self.rows))
        if missing:
            raise ValueError(f"The model gave no attention for its layers {missing}.")
        return torch.stack([self.rows[layer].cpu() for layer in sorted(self.rows)])


_RECORDING: ContextVar[AttentionRows | None] = ContextVar("attention_rows", default=None)


@contextmanager
def record_last_rows(modules: Sequence[nn.Module]) -> Iterator[AttentionRows]:
    """Within this context, forward passes leave behind the last row of each of these attention modules.

    Modules that are not listed (a vision encoder's) are left alone, also where they use the same function.
    """
    recorded = AttentionRows({id(module): layer for layer, module in enumerate(modules)})
    token = _RECORDING.set(recorded)
    try:
        yield recorded
    finally:
        _RECORDING.reset(token)


def last_row(
    query: torch.Tensor, key: torch.Tensor, scaling: float | None, attention_mask: torch.Tensor | None
) -> torch.Tensor:
    """Post-softmax attention of the last query token, mean over heads, in float32.

    Args:
        query: (B, H, T_q, D).
        key: (B, H_kv, T, D); H is a multiple of H_kv (grouped-query attention).
        scaling: factor on the dot products; ``None`` means D ** -0.5, as in SDPA.
        attention_mask: (B or 1, 1 or H, T_q, >= T), bool (True = seen) or additive; ``None``: all keys are seen.

    Returns:
        (B, T) float32.
    """
    batch, heads, _, width = query.shape
    groups, length = key.shape[1], key.shape[2]
    last = query[:, :, -1].reshape(batch, groups, heads // groups, width)  # (B, H_kv, G, D)
    scores = last.float() @ key.float().transpose(-1, -2)  # (B, H_kv, G, T)
    scores = scores.reshape(batch, heads, length) * (width**-0.5 if scaling is None else scaling)
    if attention_mask is not None:
        seen = attention_mask[:, :, -1, :length]
        scores = scores.masked_fill(~seen, -torch.inf) if seen.dtype == torch.bool else scores + seen
    return scores.softmax(-1).mean(1)


def sdpa_with_last_row(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **kwargs,
) -> tuple[torch.Tensor, None]:
    """transformers' SDPA attention; the last row is kept if this module is being recorded."""
    recording = _RECORDING.get()
    if recording is not None and id(module) in recording.layer_of:
        recording.rows[recording.layer_of[id(module)]] = last_row(query, key, scaling, attention_mask)
    return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **kwargs)


AttentionInterface.register(SDPA_WITH_LAST_ROW, sdpa_with_last_row)
AttentionMaskInterface.register(SDPA_WITH_LAST_ROW, sdpa_mask)
