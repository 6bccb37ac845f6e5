"""What was found, in one sentence."""

from __future__ import annotations

import numpy as np

from lad_core.case import Case
from lad_core.debias import Debiased
from lad_core.observation import Observation
from lad_core.prompts import identifiers


def verdict(debiased: Debiased, case: Case) -> str:
    """``"Looks at image 3 (π = 0.91) but says 7 (0.62). Debiased: 3."``, and the right answer if known.

    Images go by the names of their seats, as the model was given them.
    """
    names = seat_names(debiased.observation)
    looked, said = debiased.looked_at, debiased.vanilla
    sentence = (
        f"Looks at image {names[looked]} (π = {debiased.posterior[looked]:.2f}) "
        f"{'and' if looked == said else 'but'} {_says(debiased.observation)}. "
        f"Debiased: {names[debiased.prediction]}."
    )
    return sentence + _right(case, names)


def raw_verdict(observation: Observation, case: Case) -> str:
    """The same where there is no calibration to correct the answer with: ``"Says 7 (0.62)."``"""
    return f"S{_says(observation)[1:]}.{_right(case, seat_names(observation))}"


def seat_names(observation: Observation) -> tuple[str, ...]:
    """The identifiers of the seats, as the model was given them."""
    format = observation.setup.identifiers if observation.setup else "numbers"
    return identifiers(len(observation.log_probs), format)


def _says(observation: Observation) -> str:
    said = int(np.argmax(observation.log_probs))
    return f"says {seat_names(observation)[said]} ({np.exp(observation.log_probs[said]):.2f})"


def _right(case: Case, names: tuple[str, ...]) -> str:
    return "" if case.target_seat is None else f" Right answer: {names[case.target_seat]}."
