"""The tab "Explore": what happens when a visitor does something. The page computes nothing itself."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any

import gradio as gr

from lad_core.case import parse_order
from lad_core.page import analysis
from lad_core.page.analysis import Knobs
from lad_core.page.html import notice, status
from lad_core.page.layout import Layout, layer_choices, order_text
from lad_core.page.models import EMBEDDED, Models
from lad_core.page.state import Session, chosen
from lad_core.page.uploads import read_upload
from lad_core.saved_cases import load_case
from lad_core.scenes.deal import deal

QUICK = {"show_progress": "hidden", "api_visibility": "private"}
REDRAWS = {**QUICK, "queue": False, "trigger_mode": "always_last"}
ASKS_MODEL = {**QUICK, "concurrency_id": "model", "concurrency_limit": 1}


class Explore:
    """The tab's events, each named for what the visitor does. Holds what all share, and nobody's state."""

    def __init__(self, models: Models, first: Session, note: str, folder: Path, titles: Mapping[str, str]):
        """``folder`` holds saved cases, ``titles`` names them by stem; ``first`` has been asked already."""
        self.models, self.folder, self.titles = models, folder, titles
        model = models.get(first.model)
        knobs = Knobs.of(model.settings, model.n_layers)
        shown = analysis.screen(models, first, knobs)
        message = self._message(first, note, "status")
        self.at = Layout(first, shown, message, knobs, model.n_layers, models.names, titles)
        self._connect()

    def _connect(self) -> None:
        at = self.at
        case = [at.state, at.query, *at.knobs]
        everything = [
            at.state,
            at.query,
            at.example,
            at.order,
            at.message,
            at.stop,
            *at.seat_buttons,
            *at.screen,
        ]
        new_case = [*everything, at.selected, at.naming]

        def on(trigger: Callable, change: Callable[..., Session], *more: Any) -> Any:
            """``change(session, *more)`` gives the session that is asked about and shown."""
            return trigger(
                self._event(partial(self.change, change)), [*case, *more], everything, **ASKS_MODEL
            )

        on(at.shuffle.click, shuffle_seats)
        on(at.rotate.click, lambda session: session.with_order(session.case.rotated(1).order))
        on(at.reverse.click, lambda session: session.with_order(session.case.reversed().order))
        on(at.restore.click, lambda session: session.with_order(range(session.case.n)))
        on(at.left.click, lambda session, image: session.with_moved(image, -1), at.selected)
        on(at.right.click, lambda session, image: session.with_moved(image, 1), at.selected)
        on(at.mark.click, lambda session, image: session.with_target(chosen(image)), at.selected)
        on(at.leave_open.click, lambda session: session.with_target(None))
        on(at.order.submit, set_order, at.order)
        on(at.naming.input, lambda session, naming: session.with_identifiers(naming), at.naming)

        dealt = [at.n, at.setting, at.seed]
        for trigger in (at.deal_seed.click, at.seed.submit):
            trigger(self._event(self.deal_case), [*case, *dealt], new_case, **ASKS_MODEL)
        next_seed = at.deal_next.click(lambda seed: int(seed or 0) + 1, at.seed, at.seed, **REDRAWS)
        next_seed.then(self._event(self.deal_case), [*case, *dealt], new_case, **ASKS_MODEL)
        at.example.input(self._event(self.open_example), [*case, at.example], new_case, **ASKS_MODEL)
        for trigger in (at.files.upload, at.files.delete, at.files.clear):
            trigger(self._event(self.seat_upload), [*case, at.files], new_case, **ASKS_MODEL)
        everything_and_knobs = [*everything, *at.knobs]
        at.model.input(self._event(self.choose_model), [*case, at.model], everything_and_knobs, **ASKS_MODEL)

        running = [
            trigger(self._steps(self.ask_again), case, everything, **ASKS_MODEL)
            for trigger in (at.run.click, at.query.submit)
        ]
        running.append(
            at.rotations.click(self._steps(self.try_every_rotation), case, everything, **ASKS_MODEL)
        )
        # Two steps, for what the cancelled run still sends must not come after the answer to "Stop".
        stopped = at.stop.click(None, cancels=running, **QUICK)
        stopped.then(self._event(self.stop), case, everything, **QUICK)

        seen = [at.state, *at.knobs]
        at.seats.seat_select(self.select_picture, seen, [at.selected, at.seats, *at.seat_buttons], **REDRAWS)
        at.seats.seat_move(self.move_picture, case, everything, **ASKS_MODEL)
        for knob in (at.temperature, at.top_k, at.first_layer, at.last_layer, at.variant, at.purified):
            knob.input(self._event(self.redraw), seen, [at.message, *at.screen], **REDRAWS)
        for knob in (at.heat, at.heat_layer):
            knob.input(self.redraw_seats, seen, at.seats, **REDRAWS)
        back = at.reset.click(self.models_own_settings, at.state, at.knobs, **REDRAWS)
        back.then(self._event(self.redraw), seen, [at.message, *at.screen], **REDRAWS)

    # ---- what a visitor does: with the case ----

    def change(self, change: Callable[..., Session], session: Session, query: str, *values: Any) -> dict:
        """Change the session, ask a fast model at once, show the outcome."""
        knobs, more = self._split(values)
        return self._show(self._ask_if_fast(change(session.with_query(query), *more)), knobs)

    def deal_case(self, session: Session, query: str, *values: Any) -> dict:
        """Deal a case from the embedded model's world; what was written as query gives way to its caption."""
        knobs, (n, setting, seed) = self._split(values)
        if seed is None or seed < 0:
            raise ValueError("The seed must be a whole number from 0 up.")
        dealt = session.with_case(deal(int(n), setting, int(seed)))
        return self._show_new(self._ask_if_fast(dealt), knobs)

    def open_example(self, session: Session, query: str, *values: Any) -> dict:
        knobs, (stem,) = self._split(values)
        opened, note = open_saved(self.folder, stem, session.model)
        return self._show_new(self._ask_if_fast(opened), knobs, note, "status")

    def seat_upload(self, session: Session, query: str, *values: Any) -> dict:
        """Seat what was uploaded. Pictures alone are asked about on Run: the query may change first."""
        knobs, (paths,) = self._split(values)
        query = query.strip() or session.case.query
        saved = read_upload(paths or (), query, session.identifiers)  # a cleared list is None
        seated = Session.of(saved.case, session.model, saved.identifiers)
        if saved.title:
            return self._show_new(self._ask_if_fast(seated), knobs, saved.note, "status")
        said = "Your pictures are seated. Write what to look for, then press Run."
        return self._show_new(seated, knobs, said, "info")

    def choose_model(self, session: Session, query: str, *values: Any) -> dict:
        """Another model answers, with its own settings."""
        knobs, (name,) = self._split(values)
        model = self.models.get(name)
        knobs = replace(Knobs.of(model.settings, model.n_layers), selected=knobs.selected)
        shown = self._show(self._ask_if_fast(session.with_query(query).with_model(name)), knobs)
        return {**shown, **self._knob_updates(knobs, model.n_layers)}

    def ask_again(self, session: Session, query: str, *values: Any) -> Iterator[dict]:
        """Run: the query as it is written now, the seats as they are now."""
        knobs, _ = self._split(values)
        session = session.with_query(query)
        yield {self.at.stop: gr.update(interactive=True)}
        yield self._show(self._ask(session), knobs)

    def try_every_rotation(self, session: Session, query: str, *values: Any) -> Iterator[dict]:
        """Run all N rotations in turn, so that each picture visits each seat; ends where it began."""
        knobs, _ = self._split(values)
        session = session.with_query(query)
        n = session.case.n
        for step in range(1, n + 1):
            session = self._ask(session.with_order(session.case.rotated(1).order))
            text = f"Rotation {step} of {n}."
            if step < n:
                yield {**self._show(session, knobs, text, "info"), self.at.stop: gr.update(interactive=True)}
        yield self._show(session, knobs)

    def stop(self, session: Session, query: str, *values: Any) -> dict:
        knobs, _ = self._split(values)
        return self._show(session, knobs, "Stopped. What had been run so far is listed.", "info")

    # ---- what a visitor does: with a seat ----

    def select_picture(self, event: gr.EventData, session: Session, *values: Any) -> dict:
        """A click on a picture selects it, a second one lets go of it."""
        at, knobs = self.at, Knobs(*values)
        image = session.case.order[int(event.seat)]
        selected = None if image == knobs.selected else image
        seats = self.redraw_seats(session, *values[:-1], selected)
        return {at.selected: selected, at.seats: seats, **self._seat_buttons(selected)}

    def move_picture(self, event: gr.EventData, session: Session, query: str, *values: Any) -> dict:
        """A picture dragged to another seat."""

        def moved(session: Session) -> Session:
            return session.with_order(session.case.moved(int(event.seat), int(event.to)).order)

        return self._event(partial(self.change, moved))(session, query, *values)

    # ---- what a visitor does: with the sliders ----

    def redraw(self, session: Session, *values: Any) -> dict:
        """Sliders: from the observation alone, with no call to the model."""
        at = self.at
        screen = analysis.screen(self.models, session, Knobs(*values))
        return {at.message: self._message(session), **dict(zip(at.screen, screen, strict=True))}

    def redraw_seats(self, session: Session, *values: Any) -> str:
        knobs = Knobs(*values)
        return analysis.seats(analysis.view(self.models, session, knobs), knobs)

    def models_own_settings(self, session: Session) -> dict:
        model = self.models.get(session.model)
        return self._knob_updates(Knobs.of(model.settings, model.n_layers), model.n_layers)

    # ---- inner ----

    def _ask(self, session: Session) -> Session:
        model = self.models.get(session.model)
        return session.observed(model.observe(session.case, identifiers=session.identifiers))

    def _ask_if_fast(self, session: Session) -> Session:
        """A fast model answers at once; a slow one when it is told to."""
        return self._ask(session) if session.model in EMBEDDED and session.run is None else session

    def _split(self, values: tuple) -> tuple[Knobs, tuple]:
        count = len(self.at.knobs)
        return Knobs(*values[:count]), values[count:]

    def _show(self, session: Session, knobs: Knobs, text: str = "", tone: str = "warning") -> dict:
        """Everything that depends on the session."""
        at = self.at
        return {
            at.state: session,
            at.query: session.case.query,
            at.example: session.case.id if session.case.id in self.titles else None,
            at.order: order_text(session),
            at.message: self._message(session, text, tone),
            at.stop: gr.update(interactive=False),
            **self._seat_buttons(knobs.selected),
            **dict(zip(at.screen, analysis.screen(self.models, session, knobs), strict=True)),
        }

    def _show_new(self, session: Session, knobs: Knobs, text: str = "", tone: str = "warning") -> dict:
        """The same for another case, in which no picture is selected yet."""
        shown = self._show(session, replace(knobs, selected=None), text, tone)
        return {**shown, self.at.selected: None, self.at.naming: session.identifiers}

    def _seat_buttons(self, selected: int | None) -> dict:
        return dict.fromkeys(self.at.seat_buttons, gr.update(interactive=selected is not None))

    def _message(self, session: Session, text: str = "", tone: str = "warning") -> str:
        """What there is to say, else what the last run took."""
        return notice(text, tone) + "".join(map(notice, self._remarks(session))) or status(session)

    def _remarks(self, session: Session) -> Iterator[str]:
        """What a reader of the result has to know: unknown words, and what is wrong with the calibration."""
        unknown = self.models.get(session.model).unknown_words(session.case.query)
        if unknown:
            quoted = ", ".join(f"“{word}”" for word in unknown)
            yield f"{session.model} does not know {quoted}: its word list is that of the drawn scenes."
        calibration = self.models.calibration(session.model, session.case.n, session.identifiers, "paper")
        if calibration:
            yield from calibration.warnings

    def _knob_updates(self, knobs: Knobs, n_layers: int) -> dict:
        at = self.at
        return {
            at.temperature: knobs.temperature,
            at.top_k: gr.update(value=knobs.top_k, maximum=n_layers),
            at.first_layer: gr.update(value=knobs.first_layer, maximum=n_layers),
            at.last_layer: gr.update(value=knobs.last_layer, maximum=n_layers),
            at.variant: knobs.variant,
            at.purified: 1,
            at.heat_layer: gr.update(value=0, choices=layer_choices(n_layers)),
            at.heat: knobs.heat,
        }

    def _event(self, event: Callable[..., dict]) -> Callable[..., dict]:
        """An event that says in one sentence what can't be done; what was entered stays as it is."""

        @wraps(event)
        def safe(*values: Any) -> dict:
            try:
                return event(*values)
            except ValueError as error:
                return self._refuse(error)

        return safe

    def _steps(self, event: Callable[..., Iterator[dict]]) -> Callable[..., Iterator[dict]]:
        """The same for an event that shows its steps."""

        @wraps(event)
        def safe(*values: Any) -> Iterator[dict]:
            try:
                yield from event(*values)
            except ValueError as error:
                yield self._refuse(error)

        return safe

    def _refuse(self, error: ValueError) -> dict:
        gr.Warning(str(error))
        return {self.at.message: notice(str(error)), self.at.stop: gr.update(interactive=False)}


def shuffle_seats(session: Session) -> Session:
    """Another order than the present one."""
    shuffled = session.case.shuffled(random.randrange(2**31)).order
    return session.with_order(shuffled if shuffled != session.case.order else session.case.rotated(1).order)


def set_order(session: Session, text: str) -> Session:
    return session.with_order(parse_order(text, session.case.n))


def open_saved(folder: Path, stem: str, model: str) -> tuple[Session, str]:
    """A session around a saved case of a folder, and what its note says there is to see."""
    saved = load_case(folder / f"{stem}.json")
    return Session.of(saved.case, model, saved.identifiers), saved.note
