"""``calibrate``: which passes it makes, and what is done with scores of zero probability."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fake_model import HABIT, FakeModel, fake_data

from lad_core import calibrate, estimate_calibration, pride_log_prior


def labelled(count: int, n: int = 4):
    return fake_data(count, n=n, rest=0)[:]


def test_each_case_visits_every_seat():
    model = FakeModel()
    calibration = calibrate(model, labelled(3))
    assert model.passes == 3 * 4
    assert np.bincount(calibration.target).tolist() == [3] * 4
    np.testing.assert_allclose(np.exp(calibration.log_p_obs), HABIT, atol=1e-12)  # Eq. 1 finds the habit
    assert calibration.layer_accuracy[1] == 1


def test_a_calibration_knows_what_it_belongs_to():
    model = FakeModel()
    assert calibrate(model, labelled(1), identifiers="letters").setup == model.setup(4, "letters")


@pytest.mark.parametrize(
    ("cases", "says"),
    [
        ([], "cases must hold at least one"),
        ([replace(labelled(1)[0], target=None)], "cases must all be labelled"),
        (labelled(1) + labelled(1, n=3), "cases must all have the same number of images"),
    ],
    ids=["none", "no target", "of two sizes"],
)
def test_cases_that_cannot_calibrate(cases, says):
    with pytest.raises(ValueError, match=says):
        calibrate(FakeModel(), cases)


def scored(floor: float, offset: float = 0.0) -> np.ndarray:
    """Two passes for each of two seats; in one of them an answer scores ``floor``."""
    return np.array([[3.0, floor], [3.0, 1.0], [0.0, 2.0], [1.0, 2.0]]) + offset


TARGET, ATTENTION = np.array([0, 0, 1, 1]), np.full((4, 1, 2), 0.1)


def test_an_impossible_answer_stays_below_a_possible_one():
    """-inf has no mean, so it is raised; however unlikely a possible answer is, it stays above."""
    for unlikely in (-50.0, -500.0):
        impossible, possible = (
            estimate_calibration(s, ATTENTION, TARGET, scores=s, variant="released")
            for s in (scored(-np.inf), scored(unlikely))
        )
        assert np.isfinite(impossible.log_p_bias).all()
        assert possible.log_p_obs[0, 1] == (unlikely + 1) / 2  # what is finite is taken as it is
        assert np.isfinite(pride_log_prior(scored(-np.inf))).all()
    three = np.array([[0.0, -np.inf, -500.0]])
    assert pride_log_prior(three)[1] <= pride_log_prior(three)[2]


@pytest.mark.parametrize("offset", [-200.0, 200.0])
def test_raised_scores_move_with_a_constant(offset):
    here, there = (
        estimate_calibration(s, ATTENTION, TARGET, scores=s, variant="released")
        for s in (scored(-np.inf), scored(-np.inf, offset))
    )
    np.testing.assert_allclose(there.log_p_bias, here.log_p_bias, atol=1e-9)
    np.testing.assert_allclose(
        pride_log_prior(scored(-np.inf, offset)), pride_log_prior(scored(-np.inf)), atol=1e-9
    )
