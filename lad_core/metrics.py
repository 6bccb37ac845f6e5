"""Accuracy, RStd, consistency, confusion and divergence, in percent where nothing else is said."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np


@dataclass(frozen=True)
class Summary:
    """Of S cases in T orders each, in percent.

    Attributes:
        accuracy: share of all S x T answers that are right.
        accuracy_std: standard deviation (ddof = 1) over the T orders of the accuracy in each; 0 for
            one order.
        rstd: standard deviation (ddof = 1) over the seats of the recall of targets that sit there; seats
            where no target ever sat are left out; not a number with fewer than two seats left.
        consistency: share of the cases in which the same image is picked in all T orders.
    """

    accuracy: float
    accuracy_std: float
    rstd: float
    consistency: float

    def __getitem__(self, key: str) -> float:
        return asdict(self)[key]


def summarize(
    predicted_position: np.ndarray,
    target_position: np.ndarray,
    predicted_item: np.ndarray,
    n: int | None = None,
) -> Summary:
    """Metrics of S cases in T orders; all arguments (S, T), seats and items from 0.

    Args:
        n: number of seats, where the last may never hold a target nor be answered; each value is below it.

    Raises:
        ValueError: names the argument.
    """
    predicted = _seats("predicted_position", predicted_position)
    target = _seats("target_position", target_position)
    items = _seats("predicted_item", predicted_item)
    for name, array in (("target_position", target), ("predicted_item", items)):
        if array.shape != predicted.shape:
            raise ValueError(f"{name} must have the shape {predicted.shape}, not {array.shape}.")
    right = predicted == target
    table = confusion(predicted, target, int(max(predicted.max(), target.max())) + 1 if n is None else n)
    visits = table.sum(axis=1)
    recall = table.diagonal()[visits > 0] / visits[visits > 0]
    return Summary(
        accuracy=100 * float(right.mean()),
        accuracy_std=100 * float(right.mean(axis=0).std(ddof=1)) if right.shape[1] > 1 else 0.0,
        rstd=100 * float(recall.std(ddof=1)) if len(recall) > 1 else float("nan"),
        consistency=100 * float((items == items[:, :1]).all(axis=1).mean()),
    )


def confusion(predicted_position: np.ndarray, target_position: np.ndarray, n: int) -> np.ndarray:
    """Counts (n, n): row = target seat, column = answered seat."""
    predicted = _seats("predicted_position", predicted_position)
    target = _seats("target_position", target_position)
    if max(predicted.max(), target.max()) >= n:
        raise ValueError(f"n must be larger than every seat; there are seats beyond {n - 1}.")
    counts = np.zeros((n, n), dtype=int)
    np.add.at(counts, (target.ravel(), predicted.ravel()), 1)
    return counts


def divergence_rate(looked_at: np.ndarray, answered: np.ndarray, target: np.ndarray) -> float:
    """Share of passes, in percent, in which the argmax of pi is right and the raw answer is wrong."""
    looked_at, answered, target = map(np.asarray, (looked_at, answered, target))
    if not looked_at.shape == answered.shape == target.shape or target.size == 0:
        raise ValueError("looked_at, answered and target must have one shape, and not be empty.")
    return 100 * float(((looked_at == target) & (answered != target)).mean())


def _seats(name: str, values: np.ndarray) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 2 or array.size == 0 or not np.issubdtype(array.dtype, np.integer) or array.min() < 0:
        raise ValueError(f"{name} must be whole numbers from 0 in the shape (cases, orders).")
    return array
