"""The planted habit: which seat the biased embedded model answers when the target sits at each seat.

The matrix is the one that the paper publishes for LLaVA-OneVision (Xian et al. 2026, Figure 1, N = 8). It depends
on the target's seat, yet its rows 5 to 8 are nearly alike, so that no single prior can undo it.
"""

from __future__ import annotations

import numpy as np

# (8, 8) in percent: row = target seat, column = answered seat.
PUBLISHED = np.array(
    [
        [67.7, 29.9, 0.0, 0.0, 0.1, 0.3, 1.9, 0.0],
        [7.4, 60.3, 10.4, 0.0, 13.5, 6.2, 2.2, 0.0],
        [0.3, 3.7, 3.8, 0.0, 45.6, 36.9, 9.6, 0.0],
        [0.0, 1.4, 0.0, 0.0, 15.8, 49.0, 33.8, 0.0],
        [0.0, 0.0, 0.0, 0.0, 4.3, 35.9, 59.8, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.6, 8.1, 91.3, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.5, 0.6, 98.9, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 97.3, 2.7],
    ]
)
FLOOR = 0.5  # percent: stands in for the published zeros, which are counts that did not occur


def habit(n: int) -> np.ndarray:
    """P(answer seat j | target seat i) for ``n`` seats, (n, n), rows sum to 1.

    The published matrix is read as a density on the unit square, constant in each of its 8 x 8 cells; for
    another ``n`` a row is the mean over the target's stretch of it and a column the integral over the answer's.
    """
    density = np.maximum(PUBLISHED, FLOOR)
    density /= density.sum(axis=1, keepdims=True)
    overlap = _overlap(n)  # (n, 8): share of each published cell that lies in each of the n
    rows = overlap / overlap.sum(axis=1, keepdims=True)
    return rows @ density @ overlap.T


def _overlap(n: int) -> np.ndarray:
    """How much of published cell c (width 1) lies in cell i of n equal cells over the same stretch, (n, 8)."""
    edges = np.linspace(0, len(PUBLISHED), n + 1)
    cells = np.arange(len(PUBLISHED))
    low = np.maximum(edges[:-1, None], cells)
    high = np.minimum(edges[1:, None], cells + 1)
    return np.clip(high - low, 0, None)
