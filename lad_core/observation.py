"""What one forward pass leaves behind. Everything after it is NumPy in float64."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import numpy as np


@dataclass(frozen=True)
class Setup:
    """What an observation and the calibration it is read with must have in common."""

    model: str
    n: int
    identifiers: str = "numbers"
    image_size: int | None = None
    revision: str = ""
    prompt: str = "paper"

    def difference(self, other: Setup) -> str | None:
        """``None`` if equal, else what differs, such as ``"n (8 against 4)"``."""
        parts = [
            f"{f.name} ({getattr(self, f.name)} against {getattr(other, f.name)})"
            for f in fields(self)
            if getattr(self, f.name) != getattr(other, f.name)
        ]
        return ", ".join(parts) or None


def log_softmax(values: np.ndarray) -> np.ndarray:
    """Log-softmax over the last axis; entries of -inf stay -inf."""
    shifted = values - values.max(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Observation:
    """One forward pass over N seated images. ``log_probs`` and ``attention`` suffice to build one by hand.

    Attributes:
        log_probs: (N,) log P_obs(c_j | x), joint over each identifier's tokens, normalised here over the N
            candidates (Eq. 15-16). -inf is a probability of zero.
        attention: (L, N) attention of the last query token on each image's tokens, summed over them, mean
            over heads (Eq. 6).
        scores: (N,) raw first-token logits where each identifier is one token, else the joint
            log-probabilities; what the released code works on. ``log_probs`` if not given.
        patch_attention: per seat (L, h, w); sums to ``attention[:, seat]``.
        token_counts: (N,) image tokens at each seat.
        setup: which model, N, identifiers and image size.
        seconds: wall-clock time by stage: encode, forward, candidates.
        forward_passes: full passes over the prompt.

    Raises:
        ValueError: shapes that do not fit, negative attention, or values that are no numbers; names the
            argument.
    """

    log_probs: np.ndarray
    attention: np.ndarray
    scores: np.ndarray | None = None
    patch_attention: tuple[np.ndarray, ...] | None = None
    token_counts: np.ndarray | None = None
    setup: Setup | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    forward_passes: int = 1

    def __post_init__(self) -> None:
        log_probs = check_log_probs("log_probs", self.log_probs, ndim=1)
        scores = log_probs if self.scores is None else check_log_probs("scores", self.scores, ndim=1)
        if scores.shape != log_probs.shape:
            raise ValueError(f"scores must have the shape {log_probs.shape}, not {scores.shape}.")
        attention = check_attention("attention", self.attention, ndim=2, n=len(log_probs))
        object.__setattr__(self, "log_probs", log_softmax(log_probs))
        object.__setattr__(self, "attention", attention)
        object.__setattr__(self, "scores", scores)

    @property
    def n(self) -> int:
        return len(self.log_probs)


def check_log_probs(name: str, values: np.ndarray, ndim: int) -> np.ndarray:
    """float64 log-probabilities over at least 2 candidates on the last axis, not all of them impossible."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != ndim or array.shape[-1] < 2 or 0 in array.shape:
        raise ValueError(
            f"{name} must have {ndim} axes, the last over 2 or more candidates, not {array.shape}."
        )
    if np.isnan(array).any() or (array == np.inf).any() or np.isneginf(array).all(axis=-1).any():
        raise ValueError(f"{name} must be numbers below infinity, with at least one candidate possible.")
    return array


def check_attention(name: str, values: np.ndarray, ndim: int, n: int) -> np.ndarray:
    """float64 attention with layers and N seats on its last two axes, finite and not negative."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != ndim or array.shape[-1] != n or array.shape[-2] < 1:
        raise ValueError(f"{name} must have {ndim} axes, the last two (layers, {n}), not {array.shape}.")
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(f"{name} must be finite and not negative.")
    return array
