"""What one visitor has before them, as one frozen value. Every transition returns a new session."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace

from PIL import Image

from lad_core.case import Case
from lad_core.observation import Observation

MOST_RUNS = 24
THUMBNAIL_SIDE = 384  # pixels


@dataclass(frozen=True)
class Run:
    """A case as it was seated, and what the model left behind."""

    case: Case
    observation: Observation


@dataclass(frozen=True)
class Session:
    """The case, how its seats are named, which model answers, and its runs so far (the latest last).

    ``runs`` all have the same query, pictures, model and identifiers; they differ by order. ``selected`` is
    the seat that "move left" and its like act on.
    """

    case: Case
    model: str
    identifiers: str = "numbers"
    runs: tuple[Run, ...] = ()
    selected: int | None = None
    thumbnails: tuple[str, ...] = ()  # data URIs, by image

    def __deepcopy__(self, memo: dict) -> Session:
        return self  # frozen all through, so visitors may start from the same one

    @classmethod
    def of(cls, case: Case, model: str, identifiers: str = "numbers") -> Session:
        """A fresh session around a case."""
        return cls(case, model, identifiers, thumbnails=tuple(map(thumbnail, case.images)))

    @property
    def run(self) -> Run | None:
        """The run of the order that is seated now, if there is one."""
        return next((run for run in reversed(self.runs) if run.case.order == self.case.order), None)

    def with_case(self, case: Case, identifiers: str | None = None) -> Session:
        """Another case, with no runs yet; thumbnails are kept where the pictures are the same."""
        same = case.images is self.case.images
        thumbnails = self.thumbnails if same else tuple(map(thumbnail, case.images))
        return replace(
            self,
            case=case,
            identifiers=identifiers or self.identifiers,
            runs=(),
            selected=None,
            thumbnails=thumbnails,
        )

    def with_query(self, query: str) -> Session:
        """The same pictures asked for something else; no change if it is the same query."""
        if query == self.case.query:
            return self
        return self.with_case(replace(self.case, query=query, id=""))

    def with_model(self, model: str) -> Session:
        return self if model == self.model else replace(self, model=model, runs=())

    def with_identifiers(self, identifiers: str) -> Session:
        return self if identifiers == self.identifiers else replace(self, identifiers=identifiers, runs=())

    def with_order(self, order: Sequence[int]) -> Session:
        """The pictures in another order; the selection stays on its picture."""
        case = self.case.with_order(tuple(order))
        selected = None if self.selected is None else case.seat_of(self.case.order[self.selected])
        return replace(self, case=case, selected=selected)

    def with_target(self, image: int | None) -> Session:
        """Another image marked as the right one, in the runs so far as well."""
        runs = tuple(replace(run, case=replace(run.case, target=image)) for run in self.runs)
        return replace(self, case=replace(self.case, target=image), runs=runs)

    def select(self, seat: int) -> Session:
        """Select a seat, or let go of it if it was selected."""
        if not 0 <= seat < self.case.n:
            raise ValueError(f"There is no seat {seat + 1}: choose one from 1 to {self.case.n}.")
        return replace(self, selected=None if seat == self.selected else seat)

    def mark_selected(self) -> Session:
        """The selected picture marked as the right one; ValueError if none is selected."""
        return self.with_target(self.case.order[self._chosen()])

    def move_selected(self, by: int) -> Session:
        """The selected picture moved by so many seats; ValueError if none is selected."""
        seat = self._chosen()
        to = min(max(seat + by, 0), self.case.n - 1)
        return self.with_order(self.case.moved(seat, to).order)

    def _chosen(self) -> int:
        if self.selected is None:
            raise ValueError("Choose a picture first: click it in the row of seats.")
        return self.selected

    def observed(self, observation: Observation) -> Session:
        """The present order has been run; an earlier run of the same order is replaced."""
        earlier = tuple(run for run in self.runs if run.case.order != self.case.order)
        return replace(self, runs=(*earlier, Run(self.case, observation))[-MOST_RUNS:])


def thumbnail(image: Image.Image) -> str:
    """A picture as a data URI, small enough to send with every view."""
    small = image.copy()
    small.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE))
    return data_uri(small, quality=82)


def data_uri(image: Image.Image, **options) -> str:
    """A picture as a WebP data URI."""
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", **options)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode()
