"""The pictures that the embedded model is trained on, in groups of twelve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lad_core.images import fit
from lad_core.scenes.draw import draw
from lad_core.scenes.processor import IMAGE_SIZE
from lad_core.scenes.world import Scene, scene_group

GROUP = 12


@dataclass(frozen=True, eq=False)
class Pool:
    """Scenes and their pictures; every twelve in a row were drawn as one group, target first."""

    scenes: tuple[Scene, ...]
    pixels: np.ndarray  # (M, 3, IMAGE_SIZE, IMAGE_SIZE) uint8

    def __len__(self) -> int:
        return len(self.scenes)

    @property
    def groups(self) -> int:
        return len(self.scenes) // GROUP


def make_pool(groups: int, seed: int, adversarial: float = 0.4) -> Pool:
    """``groups`` groups, the first ``adversarial`` share of them adversarial."""
    rng = np.random.default_rng(seed)
    scenes: list[Scene] = []
    for i in range(groups):
        scenes += scene_group(GROUP, "adversarial" if i < adversarial * groups else "random", rng)
    seeds = rng.integers(2**63, size=len(scenes))
    pixels = [np.asarray(fit(draw(scene, s), IMAGE_SIZE)) for scene, s in zip(scenes, seeds, strict=True)]
    return Pool(tuple(scenes), np.stack(pixels).transpose(0, 3, 1, 2).copy())
