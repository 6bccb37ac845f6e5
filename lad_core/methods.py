"""The raw answer, the debiased one and the baselines, behind one small interface.

A method names the orders in which it wants a case observed (one for most) and decides from the observations.
An order is given relative to the case: ``order[seat]`` is the seat of the case whose image moves there, as in
``Case.rearranged``. The decision is a seat of the case as it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lad_core.calibration import Calibration
from lad_core.debias import Settings, debias, select_layers
from lad_core.observation import Observation

Order = tuple[int, ...]
Orders = Sequence[Order]
Observations = Sequence[Observation]
#: How many random orders self-consistency votes over.
VOTES = 5


def as_given(n: int, seed: int) -> list[Order]:
    return [tuple(range(n))]


def random_orders(n: int, seed: int) -> list[Order]:
    rng = np.random.default_rng(seed)
    return [tuple(int(seat) for seat in rng.permutation(n)) for _ in range(VOTES)]


def rotations(n: int, seed: int) -> list[Order]:
    return [tuple((seat - shift) % n for seat in range(n)) for shift in range(n)]


@dataclass(frozen=True)
class Method:
    """One way to answer.

    Attributes:
        says: what it does, in a few words.
        decide: (observations, orders, calibration, settings) -> seat.
        orders: (n, seed) -> the orders to observe; one forward pass each.
        calibrated: whether ``decide`` needs a calibration.
    """

    says: str
    decide: Callable[[Observations, Orders, Calibration | None, Settings], int]
    orders: Callable[[int, int], list[Order]] = as_given
    calibrated: bool = False

    @property
    def extra_passes(self) -> bool:
        """Whether the one observation of the case as given is not enough."""
        return self.orders is not as_given


def vanilla(
    observations: Observations, orders: Orders, calibration: Calibration | None, settings: Settings
) -> int:
    return int(observations[0].log_probs.argmax())


def raw_attention(
    observations: Observations, orders: Orders, calibration: Calibration | None, settings: Settings
) -> int:
    attention = observations[0].attention
    chosen = list(select_layers(attention, settings, calibration))
    return int(attention[chosen].mean(axis=0).argmax())


def purified_attention(
    observations: Observations, orders: Orders, calibration: Calibration | None, settings: Settings
) -> int:
    return debias(observations[0], calibration, settings).looked_at


def pride(
    observations: Observations, orders: Orders, calibration: Calibration | None, settings: Settings
) -> int:
    prior = calibration.with_variant(settings.variant).pride_log_prior
    scores = observations[0].scores if settings.variant == "released" else observations[0].log_probs
    return int((scores - prior).argmax())


def debiased(
    observations: Observations, orders: Orders, calibration: Calibration | None, settings: Settings
) -> int:
    return debias(observations[0], calibration, settings).prediction


def majority(
    observations: Observations, orders: Orders, calibration: Calibration | None, settings: Settings
) -> int:
    """The image that is answered most often; ties go to the one answered first."""
    votes = [order[int(o.log_probs.argmax())] for o, order in zip(observations, orders, strict=True)]
    return max(votes, key=lambda seat: (votes.count(seat), -votes.index(seat)))


def averaged(
    observations: Observations, orders: Orders, calibration: Calibration | None, settings: Settings
) -> int:
    """The image with the largest mean probability."""
    total = np.zeros(observations[0].n)
    for observation, order in zip(observations, orders, strict=True):
        total[list(order)] += np.exp(observation.log_probs)
    return int(total.argmax())


METHODS: dict[str, Method] = {
    "vanilla": Method("the raw answer", vanilla),
    "attention": Method("most attention, mean over the selected layers", raw_attention),
    "purified": Method("argmax of the posterior π", purified_attention, calibrated=True),
    "pride": Method("raw answer less PriDe's one prior", pride, calibrated=True),
    "debiased": Method("raw answer less the dynamic prior", debiased, calibrated=True),
    "self-consistency": Method(f"majority over {VOTES} random orders", majority, random_orders),
    "permutation": Method("mean probability over the N rotations", averaged, rotations),
}
