"""Models: ``load_model`` and what it can load. Only this package and the training import torch."""

from lad_core.models.load import load_model
from lad_core.models.registry import MODELS, ModelEntry

__all__ = ["MODELS", "ModelEntry", "load_model"]
