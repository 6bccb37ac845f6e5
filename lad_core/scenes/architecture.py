"""The embedded model's shape: transformers' Qwen2.5-VL, small enough for two CPU cores."""

from __future__ import annotations

from lad_core.scenes.processor import IMAGE_SIZE, MERGE_SIZE, PATCH_SIZE


def new_model(processor, seed: int):
    """A ``Qwen2_5_VLForConditionalGeneration`` with random float32 weights for the embedded word list."""
    import torch
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    token = processor.tokenizer.convert_tokens_to_ids
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(processor.tokenizer),
            "hidden_size": 128,
            "intermediate_size": 384,
            "num_hidden_layers": 6,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            "max_position_embeddings": 1024,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [4, 6, 6]},
            "bos_token_id": token("<|endoftext|>"),
            "eos_token_id": token("<|im_end|>"),
            "pad_token_id": token("<|endoftext|>"),
        },
        vision_config={
            "depth": 4,
            "hidden_size": 128,
            "intermediate_size": 384,
            "num_heads": 4,
            "patch_size": PATCH_SIZE,
            "spatial_merge_size": MERGE_SIZE,
            "temporal_patch_size": 2,
            "window_size": IMAGE_SIZE,
            "out_hidden_size": 128,
            "fullatt_block_indexes": [0, 1, 2, 3],
        },
        image_token_id=token("<|image_pad|>"),
        video_token_id=token("<|video_pad|>"),
        vision_start_token_id=token("<|vision_start|>"),
        vision_end_token_id=token("<|vision_end|>"),
        tie_word_embeddings=True,
    )
    torch.manual_seed(seed)
    return Qwen2_5_VLForConditionalGeneration(config)
