"""The models by name: the embedded ones and those of the Hub that are known to work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[2] / "assets"


@dataclass(frozen=True)
class ModelEntry:
    """One line of the list of models."""

    name: str
    family: str
    parameters: str
    licence: str
    note: str
    embedded: bool = False

    @property
    def source(self) -> str:
        """What transformers loads: a folder of ours or an id on the Hub."""
        return str(ASSETS / self.name) if self.embedded else self.name


MODELS = (
    ModelEntry(
        "scene-vlm", "qwen2_5_vl", "2.5M", "Apache-2.0", "embedded; a habit planted by training", True
    ),
    ModelEntry(
        "scene-vlm-fair", "qwen2_5_vl", "2.5M", "Apache-2.0", "embedded; the control without it", True
    ),
    ModelEntry(
        "Qwen/Qwen2.5-VL-3B-Instruct", "qwen2_5_vl", "3B", "Qwen Research", "the paper's first backbone"
    ),
    ModelEntry("Qwen/Qwen2.5-VL-7B-Instruct", "qwen2_5_vl", "7B", "Apache-2.0", ""),
)


def entry(name: str) -> ModelEntry | None:
    """The listed model of that name, if there is one."""
    return next((model for model in MODELS if model.name == name), None)
