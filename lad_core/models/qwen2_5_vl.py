"""Qwen2.5-VL through transformers' own classes; also the family of the embedded model."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from lad_core.models.base import VisionLanguageModel
from lad_core.models.feature_cache import EncodedImage


class Qwen25VL(VisionLanguageModel):
    """Image tokens lie row by row, after 2 x 2 patches were merged; positions have three axes."""

    def grid(self, encoded: EncodedImage) -> tuple[int, int]:
        _, height, width = encoded.inputs["image_grid_thw"][0].tolist()
        merge = self.model.config.vision_config.spatial_merge_size
        return height // merge, width // merge

    def position_inputs(
        self, input_ids: torch.Tensor, mask: torch.Tensor, encoded: list[list[EncodedImage]]
    ) -> dict:
        positions, _ = self.model.model.get_rope_index(
            input_ids,
            (input_ids == self.image_token_id).int(),
            image_grid_thw=torch.cat([e.inputs["image_grid_thw"] for images in encoded for e in images]),
            attention_mask=mask,
        )
        return {"position_ids": positions}  # (3, B, T)

    def next_position_inputs(self, prefill: Mapping[str, torch.Tensor], length: int) -> dict:
        last = prefill["position_ids"][:, :, -1:]  # text: the same on all three axes
        return {"position_ids": last + 1 + torch.arange(length, device=last.device)}
