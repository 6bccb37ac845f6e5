"""From a name or a folder to a model that can observe."""

from __future__ import annotations

from pathlib import Path

import torch
import transformers
from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor

from lad_core.models.base import VisionLanguageModel
from lad_core.models.probe import SDPA_WITH_LAST_ROW
from lad_core.models.qwen2_5_vl import Qwen25VL
from lad_core.models.registry import MODELS, entry

ADAPTERS: dict[str, type[VisionLanguageModel]] = {"qwen2_5_vl": Qwen25VL}

#: On a CPU, models with fewer parameters than this run in float32, larger ones as their checkpoint is stored.
FLOAT32_PARAMETERS = 10**9


def load_model(
    name_or_folder: str | Path,
    *,
    device: str | None = None,
    dtype: torch.dtype | None = None,
    image_size: int | None = None,
) -> VisionLanguageModel:
    """Load an embedded model by its name, a folder with a checkpoint, or a model of the Hub by its id.

    Args:
        name_or_folder: such as ``"scene-vlm"``, ``"checkpoints/mine"`` or ``"Qwen/Qwen2.5-VL-3B-Instruct"``.
        device: ``"cpu"``, ``"cuda"``, ``"mps"``; the best that is there if not given.
        dtype: bfloat16 on CUDA and MPS, float32 for small models on a CPU if not given.
        image_size: side in pixels to which images are resized; the checkpoint's own setting, else 336.

    Raises:
        ValueError: there is no such model, or it is not of a family that is supported.
    """
    listed = entry(str(name_or_folder))
    source = listed.source if listed else str(name_or_folder)
    config = _config(source, name=str(name_or_folder))
    adapter = ADAPTERS.get(config.model_type)
    if adapter is None:
        raise ValueError(
            f"{name_or_folder} is of the family {config.model_type!r}; supported are {', '.join(sorted(ADAPTERS))}."
        )
    device = device or _best_device()
    model = _weights(
        source, config, str(name_or_folder), dtype or ("auto" if device == "cpu" else torch.bfloat16)
    )
    if dtype is None and device == "cpu" and model.num_parameters() < FLOAT32_PARAMETERS:
        model = model.float()
    folder = Path(source)
    return adapter(
        model.to(device),
        AutoProcessor.from_pretrained(source),
        name=listed.name if listed else folder.name if folder.is_dir() else source,
        revision=getattr(config, "_commit_hash", None) or "",
        folder=folder if folder.is_dir() else None,
        image_size=image_size,
    )


def _config(source: str, name: str):
    folder = Path(source)
    if folder.exists() and not (folder / "config.json").is_file():
        raise ValueError(f"{name} is no model folder: it holds no config.json.")
    try:
        return AutoConfig.from_pretrained(source)
    except (OSError, ValueError, KeyError) as error:
        known = ", ".join(model.name for model in MODELS)
        raise ValueError(
            f"There is no model {name!r} here: give a folder with a checkpoint, an id that can be downloaded, "
            f"or one of {known}."
        ) from error


def _weights(source: str, config, name: str, dtype: torch.dtype | str) -> transformers.PreTrainedModel:
    attention = {"text_config": SDPA_WITH_LAST_ROW, "vision_config": "sdpa", "": "sdpa"}
    try:
        return AutoModelForImageTextToText.from_pretrained(
            source, config=config, dtype=dtype, attn_implementation=attention
        )
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"The weights of {name} could not be loaded: {str(error).splitlines()[0]}"
        ) from error


def _best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
