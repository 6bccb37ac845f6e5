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

    ``runs`` all have the same query, pictures, model and identifiers; they differ by order.
    """

    case: Case
    model: str
    identifiers: str = "numbers"
    runs: tuple[Run, ...] = ()
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

    def with_case(self, case: Case) -> Session:
        """Another case, with no runs yet; thumbnails are kept where the pictures are the same."""
        same = case.images == self.case.images
        thumbnails = self.thumbnails if same else tuple(map(thumbnail, case.images))
        return replace(self, case=case, runs=(), thumbnails=thumbnails)

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
        """The pictures in another order."""
        return replace(self, case=self.case.with_order(tuple(order)))

    def with_moved(self, image: int | None, by: int) -> Session:
        """One image moved by so many seats, as far as there are seats."""
        seat = self.case.seat_of(chosen(image))
        to = min(max(seat + by, 0), self.case.n - 1)
        return self.with_order(self.case.moved(seat, to).order)

    def with_target(self, image: int | None) -> Session:
        """Another image marked as the right one, in the runs so far as well."""
        runs = tuple(replace(run, case=replace(run.case, target=image)) for run in self.runs)
        return replace(self, case=replace(self.case, target=image), runs=runs)

    def observed(self, observation: Observation) -> Session:
        """The present order has been run; an earlier run of the same order is replaced."""
        earlier = tuple(run for run in self.runs if run.case.order != self.case.order)
        return replace(self, runs=(*earlier, Run(self.case, observation))[-MOST_RUNS:])


def chosen(image: int | None) -> int:
    """The image that a visitor has chosen.

    Raises:
        ValueError: there is none.
    """
    if image is None:
        raise ValueError("Choose a picture first: click it in the row of seats.")
    return image


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
