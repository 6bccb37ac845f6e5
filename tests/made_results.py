"""Debiased results over random evidence, for tests of what is made from them."""

import numpy as np

from lad_core.calibration import estimate_calibration
from lad_core.debias import Debiased, Settings, debias
from lad_core.observation import Observation, Setup

LAYERS = 5


def make(n: int, variant: str = "paper", identifiers: str = "numbers", seed: int = 0) -> Debiased:
    """A debiased result for ``n`` seats; the pictures have patch grids of different shapes."""
    rng = np.random.default_rng(seed)
    log_probs, target = np.log(rng.dirichlet(np.ones(n), 5 * n)), np.tile(np.arange(n), 5)
    attention = rng.uniform(0.01, 0.1, (5 * n, LAYERS, n))
    patches = tuple(rng.uniform(0.001, 0.01, (LAYERS, 2 + seat % 2, 3)) for seat in range(n))
    observation = Observation(
        log_probs=np.log(rng.dirichlet(np.ones(n))),
        attention=np.stack([p.sum((1, 2)) for p in patches], axis=1),
        patch_attention=patches,
        setup=Setup(model="random", n=n, identifiers=identifiers),
    )
    calibration = estimate_calibration(log_probs, attention, target, variant=variant)
    return debias(observation, calibration, Settings(top_k=2, variant=variant))
