"""Position bias in multi-image retrieval: seen, measured and undone.

``Case -> model.observe -> Observation -> debias(observation, calibration, settings) -> Debiased``
"""

from __future__ import annotations

from lad_core.calibration import Calibration, calibrate, estimate_calibration, pride_log_prior
from lad_core.case import Case
from lad_core.debias import Debiased, Settings, debias
from lad_core.metrics import summarize
from lad_core.observation import Observation

__all__ = [
    "Calibration",
    "Case",
    "Debiased",
    "Observation",
    "Settings",
    "calibrate",
    "debias",
    "estimate_calibration",
    "load_model",
    "pride_log_prior",
    "summarize",
]


def __getattr__(name: str):
    """``load_model`` brings torch with it, so it is imported when it is asked for."""
    if name == "load_model":
        from lad_core.models import load_model

        return load_model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
