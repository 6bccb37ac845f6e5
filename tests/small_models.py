"""Small models with random weights, of transformers' real classes, saved to a folder as a checkpoint is."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

from lad_core.scenes.processor import build_processor


def save_qwen2_5_vl(folder: Path, seed: int = 0) -> Path:
    """Grouped-query attention, windowed vision blocks and a processor that keeps an image's own shape."""
    processor = build_processor()
    processor.image_processor.size = {"shortest_edge": 32 * 32, "longest_edge": 96 * 96}
    token = processor.tokenizer.convert_tokens_to_ids
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(processor.tokenizer),
            "hidden_size": 64,
            "intermediate_size": 96,
            "num_hidden_layers": 5,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]},
            "eos_token_id": token("<|im_end|>"),
            "initializer_range": 0.12,  # large, so that attention is far from uniform
        },
        vision_config={
            "depth": 3,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "patch_size": 8,
            "window_size": 32,
            "out_hidden_size": 64,
            "fullatt_block_indexes": [2],
            "initializer_range": 0.2,
        },
        image_token_id=token("<|image_pad|>"),
        video_token_id=token("<|video_pad|>"),
        vision_start_token_id=token("<|vision_start|>"),
        vision_end_token_id=token("<|vision_end|>"),
    )
    torch.manual_seed(seed)
    Qwen2_5_VLForConditionalGeneration(config).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
