"""A session and its result, by the names and colours that people read; the HTML is made from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lad_core.debias import Debiased
from lad_core.observation import Observation, log_softmax
from lad_core.page.state import Session
from lad_core.prompts import identifiers

#: Debiased; a bare observation where no calibration ships to correct it with; None before the model is asked.
Result = Debiased | Observation | None


@dataclass(frozen=True, eq=False)
class Measure:
    """One number per seat, in 0..1: its word, its colour (a CSS class) and the seat that it picks."""

    word: str
    kind: str
    values: np.ndarray  # (N,)
    pick: int | None = None


@dataclass(frozen=True, eq=False)
class View:
    """What one visitor sees: a session with its result."""

    session: Session
    result: Result = None
    selected: int | None = None  # an image

    @property
    def debiased(self) -> Debiased | None:
        return self.result if isinstance(self.result, Debiased) else None

    @property
    def observation(self) -> Observation | None:
        return self.debiased.observation if self.debiased else self.result

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Seat -> its identifier."""
        return identifiers(self.session.case.n, self.session.identifiers)

    @property
    def target(self) -> int | None:
        """The right seat, if it is known."""
        return self.session.case.target_seat

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """What is known of each seat, by kind: raw, looks, prior, debiased, as far as there is a result."""
        if self.result is None:
            return {}
        said = np.exp(self.observation.log_probs)
        found = [Measure("says", "raw", said, int(np.argmax(said)))]
        if self.debiased is None:
            attention = self.observation.attention.mean(0)  # (N,), over all layers
            looks = attention / max(attention.sum(), np.finfo(float).tiny)
            found += [Measure("looks", "looks", looks, int(np.argmax(looks)))]
        else:
            found += [
                Measure("looks", "looks", self.debiased.posterior, self.debiased.looked_at),
                Measure("habit", "prior", np.exp(log_softmax(self.debiased.log_prior))),
                Measure("debiased", "debiased", np.exp(self.debiased.log_p_vis), self.debiased.prediction),
            ]
        return {measure.kind: measure for measure in found}

    def pick(self, kind: str) -> int | None:
        """The seat that a measure picks; None if there is no such measure."""
        return self.measures[kind].pick if kind in self.measures else None

    def picture(self, seat: int) -> str:
        """The name of the picture in a seat: its number in the first order, which it keeps."""
        return f"picture {self.session.case.order[seat] + 1}"

    def thumbnail(self, seat: int) -> str:
        return self.session.thumbnails[self.session.case.order[seat]]


def finding(view: View) -> tuple[str, str]:
    """What a result amounts to, and its tone: good, mixed, bad or open."""
    if view.result is None:
        return "Not asked yet", "open"
    if view.debiased is None:
        return "Raw answer only: no calibration ships for this model with these seats", "open"
    raw, looked, debiased = (view.pick(kind) for kind in ("raw", "looks", "debiased"))
    if view.target is None:
        said = "agree" if raw == debiased else "differ"
        return f"Raw and debiased {said}; which image is right is left open", "open"
    right = {
        name
        for name, seat in (("raw", raw), ("looks", looked), ("debiased", debiased))
        if seat == view.target
    }
    if right >= {"raw", "debiased"}:
        return "Says it right, with and without the correction", "good"
    if "raw" in right:
        return "Says it right, and the correction spoils it", "bad"
    if right == {"looks", "debiased"}:
        return "Looks right, says wrong; corrected", "mixed"
    if right == {"debiased"}:
        return "Looks wrong, says wrong; corrected all the same", "mixed"
    if right == {"looks"}:
        return "Looks right, says wrong; not corrected", "bad"
    return "Looks wrong, says wrong: attention itself is fooled", "bad"
