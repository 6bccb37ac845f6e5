"""From a trained model to a checkpoint that ``load_model`` takes: weights, settings, calibrations."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from transformers import PreTrainedModel, ProcessorMixin

from lad_core.calibration import Calibration, calibrate
from lad_core.debias import Settings, debias
from lad_core.models.base import CALIBRATIONS, SIDECAR, VisionLanguageModel
from lad_core.models.load import load_model
from lad_core.observation import Observation
from lad_core.scenes.deal import calibration_cases
from lad_core.scenes.processor import FORMATS, IMAGE_SIZE

#: Numbers of images on which the layer range and K are chosen.
CHOSEN_ON = (4, 8, 12)
CASES = 5  # |D_cal|


def publish(
    trained: PreTrainedModel,
    processor: ProcessorMixin,
    folder: Path,
    report: Callable[[str], None],
    cases: int = 40,
) -> None:
    """Write the checkpoint (float16), then choose its settings and calibrate it, all on calibration scenes.

    ``cases`` of each of :data:`CHOSEN_ON` judge the settings.
    """
    trained.half().save_pretrained(folder)
    processor.save_pretrained(folder)
    (folder / SIDECAR).write_text(json.dumps({"image_size": IMAGE_SIZE}) + "\n")
    model = load_model(folder)
    model.name = folder.name
    settings = choose_settings(model, cases)
    report(f"{folder.name}: layers {settings.layers}, K = {settings.top_k}, tau = {settings.temperature}")
    chosen = {"layers": settings.layers, "top_k": settings.top_k, "temperature": settings.temperature}
    (folder / SIDECAR).write_text(json.dumps({"image_size": IMAGE_SIZE, "settings": chosen}, indent=1) + "\n")
    (folder / CALIBRATIONS).mkdir(exist_ok=True)
    for identifiers in FORMATS:
        for n in range(2, 13):
            path = folder / CALIBRATIONS / f"{identifiers}-{n}.json"
            calibrate(model, calibration_cases(n, CASES), identifiers=identifiers).save(path)
    report(f"{folder.name}: calibrated for 2 to 12 images, {' and '.join(FORMATS)}")


def choose_settings(model: VisionLanguageModel, cases: int) -> Settings:
    """The layer range (an upper part of the layers) and K whose debiased answer is right most often.

    Judged on calibration scenes that the shipped calibrations do not hold, one random order each.
    """
    trials = [_trial(model, n, cases) for n in CHOSEN_ON]
    best, best_accuracy = Settings(), -1.0
    for first in range(model.n_layers):
        for top_k in range(1, min(3, model.n_layers - first) + 1):
            settings = replace(best, layers=range(first, model.n_layers), top_k=top_k)
            accuracy = float(np.mean([_accuracy(*trial, settings) for trial in trials]))
            if accuracy > best_accuracy:
                best, best_accuracy = settings, accuracy
    return best


def _trial(
    model: VisionLanguageModel, n: int, cases: int
) -> tuple[Calibration, list[Observation], list[int]]:
    dealt = calibration_cases(n, CASES + cases)
    judged = [case.shuffled(i) for i, case in enumerate(dealt[CASES:])]
    calibration = calibrate(model, dealt[:CASES])
    return calibration, model.observe_many(judged), [case.target_seat for case in judged]


def _accuracy(
    calibration: Calibration, observations: list[Observation], targets: list[int], settings: Settings
) -> float:
    """Mean of how often the debiased answer and the posterior's argmax are right."""
    results = [debias(observation, calibration, settings) for observation in observations]
    return float(
        np.mean([[r.prediction == t, r.looked_at == t] for r, t in zip(results, targets, strict=True)])
    )
