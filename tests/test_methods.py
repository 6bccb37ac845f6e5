"""Methods that decide from one observation or from several, on numbers that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from lad_core import Observation, Settings, estimate_calibration
from lad_core.methods import METHODS, VOTES

ONE_ORDER = [(0, 1, 2)]


def says(*probabilities: float, attention=None, scores=None) -> Observation:
    with np.errstate(divide="ignore"):
        log_probs = np.log(probabilities)
    return Observation(
        log_probs, np.ones((1, len(probabilities))) if attention is None else attention, scores
    )


def decide(name, observations, orders=ONE_ORDER, calibration=None, **settings) -> int:
    return METHODS[name].decide(observations, orders, calibration, Settings(**settings))


def test_raw_attention_is_the_mean_over_the_strongest_layers():
    attention = np.array([[0.1, 0.2, 0.1], [0.5, 0.1, 0.4], [0.1, 0.3, 0.6]])  # S = 0.4, 1, 1
    one = says(0.2, 0.5, 0.3, attention=attention)
    assert decide("attention", [one], top_k=2) == 2
    assert decide("attention", [one], top_k=1) == 0
    assert decide("attention", [one], top_k=2, layers=(0,)) == 1
    assert decide("vanilla", [one]) == 1


def test_pride_subtracts_one_prior():
    """By hand: with the mean log-probabilities log(0.5, 0.3, 0.2), 0.4 / 0.3 is the largest quotient."""
    log_probs = np.tile(np.log([0.5, 0.3, 0.2]), (3, 1))
    calibration = estimate_calibration(log_probs, np.ones((3, 1, 3)), np.arange(3))
    assert decide("pride", [says(0.5, 0.4, 0.1)], calibration=calibration) == 1


def test_released_pride_is_the_column_mean_of_the_bias_matrix():
    """By hand: g = 4 - 0, b = 5/3 - 4/3, so B is each row (4, 1, 0) less 1/3, and less 4 on the diagonal."""
    scores = np.tile([4.0, 1.0, 0.0], (3, 1))
    calibration = estimate_calibration(scores, np.ones((3, 1, 3)), np.arange(3), scores=scores)
    prior = calibration.with_variant("released").pride_log_prior
    np.testing.assert_allclose(prior, [7 / 3, -2 / 3, -5 / 3])
    one = says(0.8, 0.1, 0.1, scores=[4.0, 1.5, 0.0])  # raw scores decide, and not the probabilities
    assert decide("pride", [one], calibration=calibration, variant="released") == 1
    assert decide("pride", [one], calibration=calibration, variant="paper") == 2


def test_permutation_averages_over_images_not_seats():
    """A model that says "seat 1" to all has no opinion on the images; a slight one is found."""
    orders = METHODS["permutation"].orders(3, 0)
    assert sorted(orders) == [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    bias = np.array([0.8, 0.1, 0.1])
    for favourite in range(3):
        likes = np.where(np.arange(3) == favourite, 1.2, 1.0)
        observations = [says(*(bias * likes[list(order)])) for order in orders]
        assert decide("permutation", observations, orders) == favourite


def test_self_consistency_counts_images_and_settles_ties_by_the_first():
    orders = [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    first, second = says(0.8, 0.1, 0.1), says(0.1, 0.8, 0.1)
    assert decide("self-consistency", [second, first, first], orders) == 1  # images 1, 1, 2
    assert decide("self-consistency", [says(0.1, 0.1, 0.8), first, second], orders) == 2  # images 2, 1, 0


def test_self_consistency_draws_its_orders_from_the_seed():
    orders = METHODS["self-consistency"].orders
    assert len(orders(5, 1)) == VOTES
    assert orders(5, 1) == orders(5, 1) != orders(5, 2)
    assert all(sorted(order) == list(range(5)) for order in orders(5, 1))


@pytest.mark.parametrize("name", METHODS)
def test_passes_are_known(name):
    passes = {"permutation": 6, "self-consistency": VOTES}.get(name, 1)
    assert len(METHODS[name].orders(6, 0)) == passes
    assert METHODS[name].extra_passes == (passes > 1)
