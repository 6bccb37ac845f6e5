from __future__ import annotations

import numpy as np
import pytest

from lad_core.metrics import confusion, divergence_rate, summarize


def test_a_table_by_hand():
    target = np.array([[0, 1], [1, 0], [0, 0]])
    said = np.array([[0, 0], [1, 0], [1, 0]])
    items = np.array([[0, 1], [2, 2], [1, 1]])
    summary = summarize(said, target, items)
    assert summary.accuracy == pytest.approx(100 * 4 / 6)
    assert summary.accuracy_std == pytest.approx(0)  # two of three right in both orders
    recall = np.array([3 / 4, 1 / 2])
    assert summary.rstd == pytest.approx(100 * recall.std(ddof=1))
    assert summary.consistency == pytest.approx(100 * 2 / 3)
    assert confusion(said, target, 2).tolist() == [[3, 1], [1, 1]]


def test_a_seat_without_targets_is_left_out():
    target, said = np.array([[0, 1]]), np.array([[0, 2]])
    assert summarize(said, target, said, n=3).rstd == pytest.approx(100 * np.std([1, 0], ddof=1))


def test_one_order():
    one = np.array([[0], [1]])
    assert summarize(one, one, one).accuracy_std == 0


def test_divergence_counts_looks_right_says_wrong():
    assert divergence_rate([0, 1, 1, 0], [1, 1, 0, 0], [0, 1, 1, 1]) == 50


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([0, 1], [0, 1], [0, 1]), "predicted_position must"),
        (([[0, 1]], [[0, 1], [1, 0]], [[0, 1]]), r"target_position must have the shape \(1, 2\)"),
        (([[0, 1]], [[0, 1]], [[0.5, 1]]), "predicted_item must"),
        (([[0, -1]], [[0, 1]], [[0, 1]]), "predicted_position must"),
    ],
)
def test_bad_arguments_are_named(arguments, says):
    with pytest.raises(ValueError, match=says):
        summarize(*map(np.array, arguments))


@pytest.mark.parametrize("n", [0, 2])
def test_n_must_cover_the_seats(n):
    with pytest.raises(ValueError, match="n must be larger"):
        summarize(np.array([[3]]), np.array([[0]]), np.array([[0]]), n=n)


def test_divergence_needs_one_shape():
    with pytest.raises(ValueError, match="must have one shape"):
        divergence_rate([0, 1], [[0, 1]], [0, 1])
