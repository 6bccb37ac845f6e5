"""A model without weights: it knows the right image, looks at it, and says what a habit dictates."""

from __future__ import annotations

import numpy as np
from PIL import Image

from lad_core.case import Case
from lad_core.datasets import Dataset
from lad_core.debias import Settings
from lad_core.observation import Observation, Setup

#: P(answered seat | target seat) at N = 4: right at seats 1 and 4, else drawn to seat 4.
HABIT = np.array(
    [
        [0.70, 0.10, 0.05, 0.15],
        [0.05, 0.35, 0.10, 0.50],
        [0.05, 0.10, 0.30, 0.55],
        [0.01, 0.02, 0.02, 0.95],
    ]
)


class FakeModel:
    """``observe_many`` alone is what the evaluation calls; it counts the passes and can be told to stop.

    Layer 0 looks everywhere alike, layer 1 at the target.
    """

    name, revision, n_layers, image_size = "fake", "1", 2, 8
    settings = Settings(top_k=1, layers=(1,))

    def __init__(self, shipped=None, stop_after: int | None = None):
        self.shipped, self.stop_after, self.passes = shipped, stop_after, 0

    def setup(self, n: int, identifiers: str = "numbers") -> Setup:
        return Setup("fake", n, identifiers, self.image_size, self.revision)

    def calibration(self, n: int, identifiers: str = "numbers"):
        return self.shipped

    def observe_many(self, cases, *, identifiers="numbers", progress=None) -> list[Observation]:
        if self.stop_after is not None and self.passes >= self.stop_after:
            raise KeyboardInterrupt
        self.passes += len(cases)
        return [self._observe(case, identifiers) for case in cases]

    def _observe(self, case: Case, identifiers: str) -> Observation:
        n = case.n
        target = case.target_seat
        attention = np.full((2, n), 1 / n)
        attention[1] = 0.1 + 0.5 * (np.arange(n) == target)
        return Observation(np.log(HABIT[target]), attention, setup=self.setup(n, identifiers))


def fake_data(cases: int, n: int = 4, rest: int = 5) -> Dataset:
    """Cases of flat pictures; the target is another one each time."""

    def loader(number: int):
        images = tuple(Image.new("RGB", (8, 8), (20 * i + 1, number, 0)) for i in range(n))
        return lambda: Case(f"picture {number}", images, target=number % n, id=f"case-{number}")

    loaders = tuple(loader(number) for number in range(cases + rest))
    return Dataset("fakes", n, loaders[:cases], loaders[cases:])
