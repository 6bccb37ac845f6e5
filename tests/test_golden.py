"""The method against expected values, to 1e-9: both variants, PriDe and the metrics."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lad_core import Observation, Settings, debias, estimate_calibration, pride_log_prior, summarize

GOLDEN = Path(__file__).parent / "golden"
NAMES = ["n2_seed0", "n4_seed1", "n4_seed4", "n8_seed2", "n12_seed3"]


def near(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9)


@pytest.fixture(params=NAMES)
def golden(request):
    return json.loads((GOLDEN / f"{request.param}.json").read_text())


def estimate(golden, variant):
    c = golden["calibration"]
    return estimate_calibration(
        np.array(c["log_probs"]),
        np.array(c["attention"]),
        np.array(c["target"]),
        scores=np.array(c["logits"]),
        variant=variant,
    )


def observe(case):
    return Observation(
        log_probs=np.array(case["log_probs"]),
        attention=np.array(case["attention"]),
        scores=np.array(case["logits"]),
    )


def test_paper_calibration(golden):
    calibration, expected = estimate(golden, "paper"), golden["calibration"]["paper"]
    near(calibration.log_p_obs, expected["log_p_obs"])
    near(calibration.log_gain, expected["log_gain"])
    near(calibration.log_p_bias, expected["log_p_bias"])
    near(calibration.attention_prior, expected["attention_prior"])


def test_released_calibration(golden):
    calibration, expected = estimate(golden, "released"), golden["calibration"]["released_code"]
    near(calibration.log_p_bias, expected["bias_matrix"])
    near(calibration.attention_prior, expected["attention_prior"])


def test_paper_debiasing(golden):
    calibration = estimate(golden, "paper")
    settings = Settings(top_k=golden["top_k"], temperature=golden["tau"])
    for case in golden["cases"]:
        result, expected = debias(observe(case), calibration, settings), case["paper"]
        assert list(result.selected_layers) == expected["selected_layers"]
        near(result.posterior, expected["posterior"])
        near(result.log_prior, expected["log_prior"])
        near(result.log_p_vis, expected["log_p_vis"])
        assert result.prediction == expected["prediction"]
        assert result.vanilla == expected["vanilla"]


def test_released_debiasing(golden):
    calibration = estimate(golden, "paper")  # debias takes the variant from the settings
    settings = Settings(top_k=golden["top_k"], temperature=golden["tau"], variant="released")
    for case in golden["cases"]:
        result, expected = debias(observe(case), calibration, settings), case["released_code"]
        near(result.posterior, expected["posterior"])
        near(result.log_prior, expected["log_prior"])
        near(result.scores, expected["scores"])
        assert result.prediction == expected["prediction"]


def test_pride(golden):
    near(
        pride_log_prior(np.array(golden["calibration"]["log_probs"])),
        golden["calibration"]["pride_log_prior"],
    )


def test_metrics():
    golden = json.loads((GOLDEN / "metrics.json").read_text())
    summary = summarize(
        np.array(golden["predicted_position"]),
        np.array(golden["target_position"]),
        np.array(golden["predicted_item"]),
    )
    for name, expected in golden["expected"].items():
        near(summary[name], expected)
