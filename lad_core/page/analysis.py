"""A session and the knobs -> all that is shown. No model is called here: a slider redraws from this alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import plotly.graph_objects as go

from lad_core import figures
from lad_core.calibration import VARIANTS
from lad_core.debias import Debiased, Settings, debias
from lad_core.page import html
from lad_core.page.models import Models
from lad_core.page.state import Run, Session
from lad_core.page.view import Result, View


@dataclass(frozen=True)
class Knobs:
    """What the visitor has set, apart from the case. Layers are counted from 1, as on the page."""

    top_k: int
    temperature: float
    first_layer: int
    last_layer: int
    variant: str
    purified: bool = True
    heat_layer: int = 0  # 0: the selected layers
    heat: float = 0.4  # 0..1, how dark the unseen parts of a picture get
    selected: int | None = None  # the image that "move left" and its like act on

    @classmethod
    def of(cls, settings: Settings, n_layers: int) -> Knobs:
        """The knobs at a model's own settings."""
        layers = settings.layers if settings.layers is not None else range(n_layers)
        return cls(settings.top_k, settings.temperature, min(layers) + 1, max(layers) + 1, settings.variant)

    @property
    def settings(self) -> Settings:
        first, last = sorted((self.first_layer, self.last_layer))
        return Settings(self.top_k, self.temperature, range(first - 1, last), self.variant)


class Screen(NamedTuple):
    """What one visitor sees of the result, in the order in which it stands on the page."""

    verdict: str
    seats: str
    raw: str
    debiased: str
    history: str
    attention: go.Figure
    prior: go.Figure
    subtraction: go.Figure
    layers: go.Figure
    variants: str


def result(models: Models, session: Session, run: Run | None, knobs: Knobs) -> Result:
    """The run debiased; the bare observation if no calibration ships for it, None if there is no run."""
    if run is None:
        return None
    calibration = models.calibration(session.model, run.case.n, session.identifiers, knobs.variant)
    return run.observation if calibration is None else debias(run.observation, calibration, knobs.settings)


def view(models: Models, session: Session, knobs: Knobs) -> View:
    """The session with the result of its present order."""
    return View(session, result(models, session, session.run, knobs), knobs.selected)


def screen(models: Models, session: Session, knobs: Knobs) -> Screen:
    """All that is shown of a session."""
    now = view(models, session, knobs)
    past = [
        View(replace(session, case=run.case), result(models, session, run, knobs)) for run in session.runs
    ]
    return Screen(
        html.verdict(now),
        seats(now, knobs),
        html.card(now, "raw"),
        html.card(now, "debiased"),
        html.history(past),
        *_figures(now.result, knobs),
        html.variants([_in_variant(models, now, replace(knobs, variant=variant)) for variant in VARIANTS]),
    )


def _in_variant(models: Models, now: View, knobs: Knobs) -> View:
    """The same observation with the same knobs, computed in another variant."""
    return replace(now, result=result(models, now.session, now.session.run, knobs))


def seats(view: View, knobs: Knobs) -> str:
    """The row of seats with its heatmaps."""
    heat: tuple = ()
    if view.result is not None and knobs.heat > 0:
        layers = [knobs.heat_layer - 1] if knobs.heat_layer else None
        heat = figures.heatmaps(view.result, layers, knobs.purified)
    return html.seats(view, heat, knobs.heat)


def _figures(result: Result, knobs: Knobs) -> tuple[go.Figure, go.Figure, go.Figure, go.Figure]:
    if result is None:
        return tuple(
            figures.message("Press Run to ask the model.", height) for height in (430, 430, 580, 580)
        )
    if not isinstance(result, Debiased):
        nothing = "No calibration ships for this setting,<br>so there is no habit to take out."
        empty = figures.message(nothing), figures.message(nothing, 580)
        return figures.attention(result), *empty, figures.layers(result)
    return (
        figures.attention(result),
        figures.prior(result),
        figures.subtraction(result),
        figures.layers(result, knobs.purified),
    )
