"""Deals fresh cases from the embedded model's world."""

from __future__ import annotations

import numpy as np

from lad_core.case import Case
from lad_core.scenes.draw import draw
from lad_core.scenes.world import captions, scene_group

#: Each use has its own stream of random numbers, so that no test scene is ever a calibration scene.
STREAMS = {"test": 1, "calibration": 2}
SETTINGS = ("random", "adversarial")


def deal(n: int, setting: str = "random", seed: int = 0, *, size: int = 256, stream: str = "test") -> Case:
    """A case of ``n`` pictures (``size`` pixels a side) with its caption as query; the same for the same seed.

    Raises:
        ValueError: ``n`` outside 2 to 12, or an unknown ``setting``.
    """
    if not 2 <= n <= 12:
        raise ValueError(f"n must be between 2 and 12, not {n}.")
    rng = np.random.default_rng([STREAMS[stream], seed, n, *setting.encode()])
    scenes = scene_group(n, setting, rng)
    said = captions(scenes[0])
    query = said[rng.integers(len(said))]
    seats = rng.permutation(n)  # images in their first order; the target is scene 0
    seeds = rng.integers(2**63, size=n)
    images = tuple(draw(scenes[i], seeds[i], size) for i in seats)
    return Case(
        query=query, images=images, target=int(np.flatnonzero(seats == 0)[0]), id=f"{setting}-{n}-{seed}"
    )


def calibration_cases(n: int, count: int = 5, seed: int = 0, setting: str = "random") -> list[Case]:
    """Cases to calibrate on, from a stream of scenes that no test uses."""
    return [deal(n, setting, seed * 1000 + i, stream="calibration") for i in range(count)]
