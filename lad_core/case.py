"""A case: a query, N images, the order in which they are seated, and which one is right.

Seats and images are counted from 0 in code and from 1 for people. ``order[seat]`` is the image that sits
there. This is the one place that knows how orders compose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

MIN_IMAGES = 2
MAX_IMAGES = 12
MAX_QUERY_CHARACTERS = 2000


@dataclass(frozen=True)
class Case:
    """One retrieval question.

    Attributes:
        query: the text that one of the images fits.
        images: N pictures in their first order; image k stays image k however the seats are shuffled.
        order: ``order[seat]`` = image, a permutation of 0..N-1; the first order if not given.
        target: the right image (not its seat), or ``None`` where that is left open.
        id: a name, for lists and results.

    Raises:
        ValueError: an empty or too long query, fewer than 2 or more than 12 images, an order that is no
            permutation, or a target that is none of the images.
    """

    query: str
    images: tuple[Image.Image, ...]
    order: tuple[int, ...] = None  # type: ignore[assignment]  # filled in below
    target: int | None = None
    id: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "images", tuple(self.images))
        n = len(self.images)
        if not self.query.strip():
            raise ValueError("The query is empty; describe in a few words the image to be found.")
        if len(self.query) > MAX_QUERY_CHARACTERS:
            raise ValueError(
                f"The query has {len(self.query):,} characters; "
                f"shorten it to {MAX_QUERY_CHARACTERS:,} at most."
            )
        if not MIN_IMAGES <= n <= MAX_IMAGES:
            raise ValueError(f"A case needs {MIN_IMAGES} to {MAX_IMAGES} images; there {_are(n)}.")
        order = tuple(range(n)) if self.order is None else tuple(int(i) for i in self.order)
        check_order(order, n)
        object.__setattr__(self, "order", order)
        if self.target is not None and not 0 <= self.target < n:
            raise ValueError(f"The target must be one of the images 1 to {n}, not {self.target + 1}.")

    @property
    def n(self) -> int:
        return len(self.images)

    @property
    def seated_images(self) -> tuple[Image.Image, ...]:
        """The pictures by seat."""
        return tuple(self.images[image] for image in self.order)

    @property
    def target_seat(self) -> int | None:
        return None if self.target is None else self.seat_of(self.target)

    def seat_of(self, image: int) -> int:
        return self.order.index(image)

    def with_order(self, order: tuple[int, ...]) -> Case:
        return replace(self, order=order)

    def rearranged(self, seats: tuple[int, ...]) -> Case:
        """The new seat s takes whoever sat at ``seats[s]``."""
        check_order(tuple(seats), self.n)
        return self.with_order(tuple(self.order[seat] for seat in seats))

    def rotated(self, by: int = 1) -> Case:
        """Whoever sat at seat s moves to seat (s + by) mod N."""
        return self.rearranged(tuple((seat - by) % self.n for seat in range(self.n)))

    def reversed(self) -> Case:
        return self.with_order(self.order[::-1])

    def shuffled(self, seed: int) -> Case:
        """A random order, the same for the same seed, whatever the order was before."""
        return self.with_order(tuple(int(i) for i in np.random.default_rng(seed).permutation(self.n)))

    def moved(self, seat: int, to_seat: int) -> Case:
        """One image moved to another seat; those between make room.

        Raises:
            ValueError: a seat outside 1 to N (as people count).
        """
        for place in (seat, to_seat):
            if not 0 <= place < self.n:
                raise ValueError(f"Seats go from 1 to {self.n}; there is no seat {place + 1}.")
        order = list(self.order)
        order.insert(to_seat, order.pop(seat))
        return self.with_order(tuple(order))


def check_order(order: tuple[int, ...], n: int) -> None:
    """Raises ``ValueError`` unless ``order`` is a permutation of 0..n-1."""
    if sorted(order) != list(range(n)):
        given = ",".join(str(i + 1) for i in order)
        raise ValueError(f"The order must name each of the images 1 to {n} once, not {given or 'nothing'}.")


def parse_order(text: str, n: int) -> tuple[int, ...]:
    """``"3,1,2"`` (as people count) -> ``(2, 0, 1)``.

    Raises:
        ValueError: not a permutation of 1 to ``n``.
    """
    try:
        order = tuple(int(part) - 1 for part in text.replace(",", " ").split())
    except ValueError as error:
        given = text if len(text) < 40 else f"{text[:40]}…"
        message = f'The order must be numbers with commas, such as "2,1,3", not {given!r}.'
        raise ValueError(message) from error
    check_order(order, n)
    return order


def _are(n: int) -> str:
    return {0: "are none", 1: "is only 1"}.get(n, f"are {n}")
