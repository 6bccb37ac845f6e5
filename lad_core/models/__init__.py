"""Models: ``load_model`` and what it can load. Only this package and the training import torch."""

from lad_core.models.registry import MODELS, ModelEntry

__all__ = ["MODELS", "ModelEntry", "load_model"]


def __getattr__(name: str):
    """``load_model`` brings torch with it, so it is imported when it is asked for."""
    if name == "load_model":
        from lad_core.models.load import load_model

        return load_model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
