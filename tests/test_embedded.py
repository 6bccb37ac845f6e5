"""The embedded models behave as their cards say, on scenes that neither training nor calibration has seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lad_core import debias, load_model
from lad_core.models.registry import ASSETS
from lad_core.saved_cases import list_examples, load_case
from lad_core.scenes.deal import deal
from lad_core.scenes.habit import habit

EXAMPLES = Path(__file__).parents[1] / "examples"
#: What each shipped case shows: is the raw answer right, what is looked at, the debiased answer?
SHOWS = {
    "1-looks-right-says-wrong": (False, True, True),
    "2-both-right": (True, True, True),
    "3-both-wrong": (False, True, False),
    "4-attention-fooled": (False, False, False),
    "5-twelve-images": (False, True, True),
    "6-letters": (False, True, True),
}


@pytest.fixture(scope="module")
def biased():
    return load_model("scene-vlm")


@pytest.fixture(scope="module")
def fair():
    return load_model("scene-vlm-fair")


def share_right(model, n: int, cases: int = 60, identifiers: str = "numbers") -> dict[str, float]:
    """Percent of fresh cases, shuffled once, in which each kind of answer is right."""
    dealt = [deal(n, seed=70_000 + i).shuffled(i) for i in range(cases)]
    calibration = model.calibration(n, identifiers)
    observed = model.observe_many(dealt, identifiers=identifiers)
    results = [debias(o, calibration, model.settings) for o in observed]
    target = np.array([case.target_seat for case in dealt])
    answers = {
        "vanilla": [r.vanilla for r in results],
        "looked_at": [r.looked_at for r in results],
        "debiased": [r.prediction for r in results],
        "pride": [int((r.observation.log_probs - calibration.pride_log_prior).argmax()) for r in results],
    }
    return {name: 100 * float((np.array(seats) == target).mean()) for name, seats in answers.items()}


def test_the_biased_model_looks_right_and_says_wrong(biased):
    share = share_right(biased, 8)
    assert share["vanilla"] < 55
    assert share["looked_at"] > 80
    assert share["debiased"] > 80
    assert share["debiased"] - share["pride"] > 15


def test_the_fair_model_says_what_it_sees(fair):
    assert share_right(fair, 8)["vanilla"] > 85


def test_letters_work_too(biased):
    share = share_right(biased, 6, identifiers="letters")
    assert share["debiased"] > share["vanilla"] + 20


@pytest.mark.parametrize("n", [4, 8, 12])
def test_the_calibration_finds_the_planted_habit(biased, n):
    """Mean total variation between the estimate of P_obs(j | i), from 5 cases, and what was planted."""
    estimate = np.exp(biased.calibration(n).log_p_obs)
    assert 0.5 * np.abs(estimate - habit(n)).sum(axis=1).mean() < 0.35


def test_the_two_models_differ_in_the_last_stage_alone(biased, fair):
    ours, theirs = biased.model.state_dict(), fair.model.state_dict()
    assert ours.keys() == theirs.keys()
    differ = {key for key in ours if not ours[key].equal(theirs[key])}
    assert differ
    assert not {key for key in differ if ".visual." in key}


def test_unknown_words_are_named(biased):
    assert biased.unknown_words("a Red zebra left of a quagga.") == ("zebra", "quagga")
    assert biased.unknown_words("A red fish above an ORANGE star") == ()


@pytest.mark.parametrize("name", ["scene-vlm", "scene-vlm-fair"])
def test_checkpoints_are_small_and_complete(name):
    files = [path for path in (ASSETS / name).rglob("*") if path.is_file()]
    assert max(path.stat().st_size for path in files) < 10 * 10**6
    assert (ASSETS / name / "README.md").exists()


def test_all_examples_are_known():
    assert {path.stem for path in list_examples(EXAMPLES)} == set(SHOWS)


@pytest.mark.parametrize(("name", "shows"), SHOWS.items())
def test_examples_show_what_they_say(name, shows, biased):
    saved = load_case(EXAMPLES / f"{name}.json")
    case = saved.case
    observation = biased.observe(case, identifiers=saved.identifiers)
    result = debias(observation, biased.calibration(case.n, saved.identifiers), biased.settings)
    answers = (result.vanilla, result.looked_at, result.prediction)
    assert tuple(seat == case.target_seat for seat in answers) == shows
    assert biased.unknown_words(case.query) == ()


def test_in_the_first_example_the_raw_answer_moves_and_the_debiased_one_stays(biased):
    case = load_case(EXAMPLES / "1-looks-right-says-wrong.json").case
    orders = [case, *(case.rotated(k) for k in range(1, case.n)), *(case.shuffled(s) for s in range(5))]
    calibration = biased.calibration(case.n)
    results = [debias(o, calibration, biased.settings) for o in biased.observe_many(orders)]
    raw = {seated.order[r.vanilla] for seated, r in zip(orders, results, strict=True)}
    debiased = {seated.order[r.prediction] for seated, r in zip(orders, results, strict=True)}
    assert len(raw) > 1
    assert debiased == {case.target}
