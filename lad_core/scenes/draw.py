"""Scenes -> pictures, with Pillow. Place, size, shade and background vary from picture to picture."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw

from lad_core.scenes.world import Scene

RGB = tuple[int, int, int]
Points = list[tuple[float, float]]

PALETTE: dict[str, RGB] = {
    "red": (214, 39, 40),
    "orange": (245, 130, 20),
    "yellow": (244, 208, 24),
    "green": (44, 150, 60),
    "blue": (36, 98, 214),
    "purple": (124, 58, 176),
    "pink": (246, 140, 190),
    "black": (34, 34, 38),
}
BACKGROUNDS: tuple[RGB, ...] = (
    (250, 250, 250),
    (246, 240, 226),
    (226, 238, 248),
    (230, 244, 228),
    (240, 232, 246),
    (222, 224, 228),
)


class Pen:
    """Draws one thing in its own coordinates: the centre is (0, 0), the edges are at -1 and 1, y points down."""

    def __init__(
        self, draw: ImageDraw.ImageDraw, centre: tuple[float, float], radius: float, fill: RGB, edge: RGB
    ):
        self.draw, self.centre, self.radius, self.fill, self.edge = draw, centre, radius, fill, edge
        self.width = max(1, round(radius * 0.09))

    def _at(self, x: float, y: float) -> tuple[float, float]:
        return self.centre[0] + x * self.radius, self.centre[1] + y * self.radius

    def polygon(self, points: Points, fill: RGB | None = None) -> None:
        corners = [self._at(x, y) for x, y in points]
        self.draw.polygon(corners, fill=fill or self.fill)
        self.draw.line([*corners, corners[0]], fill=self.edge, width=self.width, joint="curve")

    def ellipse(self, left: float, top: float, right: float, bottom: float, fill: RGB | None = None) -> None:
        box = [*self._at(left, top), *self._at(right, bottom)]
        self.draw.ellipse(box, fill=fill or self.fill, outline=self.edge, width=self.width)


def _around(n: int, radii: tuple[float, ...], start: float = -90) -> Points:
    """``n`` points around the centre, at the radii in turn."""
    angles = np.deg2rad(start + np.arange(n) * 360 / n)
    return [
        (radii[i % len(radii)] * np.cos(a), radii[i % len(radii)] * np.sin(a)) for i, a in enumerate(angles)
    ]


def _heart(pen: Pen) -> None:
    t = np.linspace(0, 2 * np.pi, 60)
    x, y = np.sin(t) ** 3, -(13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)) / 16
    pen.polygon(list(zip(x, y, strict=True)))


def _moon(pen: Pen) -> None:
    outer = np.deg2rad(np.linspace(40, 320, 40))
    inner = np.deg2rad(np.linspace(295, 65, 40))
    points = [(np.cos(a) * 0.95, np.sin(a) * 0.95) for a in outer]
    points += [(0.42 + np.cos(a) * 0.72, np.sin(a) * 0.72) for a in inner]
    pen.polygon([(x + 0.1, y) for x, y in points])


def _house(pen: Pen) -> None:
    pen.polygon([(-0.75, 1), (-0.75, 0), (0.75, 0), (0.75, 1)])
    pen.polygon([(-1, 0), (0, -1), (1, 0)])
    pen.polygon([(-0.22, 1), (-0.22, 0.35), (0.22, 0.35), (0.22, 1)], fill=(255, 255, 255))


def _tree(pen: Pen) -> None:
    pen.polygon([(-0.18, 1), (-0.18, 0.2), (0.18, 0.2), (0.18, 1)], fill=(120, 84, 50))
    pen.polygon([(-0.85, 0.45), (0, -0.45), (0.85, 0.45)])
    pen.polygon([(-0.65, -0.2), (0, -1), (0.65, -0.2)])


def _fish(pen: Pen) -> None:
    pen.polygon([(0.35, 0), (1, -0.6), (1, 0.6)])
    pen.ellipse(-1, -0.52, 0.55, 0.52)
    pen.ellipse(-0.74, -0.26, -0.46, 0.02, fill=(255, 255, 255))


def _car(pen: Pen) -> None:
    pen.polygon([(-0.5, -0.05), (-0.3, -0.6), (0.35, -0.6), (0.6, -0.05)])
    pen.polygon([(-1, -0.05), (1, -0.05), (1, 0.45), (-1, 0.45)])
    for x in (-0.55, 0.55):
        pen.ellipse(x - 0.28, 0.2, x + 0.28, 0.76, fill=(70, 70, 70))


def _flower(pen: Pen) -> None:
    for x, y in _around(6, (0.58,)):
        pen.ellipse(x - 0.4, y - 0.4, x + 0.4, y + 0.4)
    pen.ellipse(-0.34, -0.34, 0.34, 0.34, fill=(255, 255, 255))


def _ring(pen: Pen) -> None:
    pen.ellipse(-0.95, -0.95, 0.95, 0.95)
    pen.ellipse(-0.48, -0.48, 0.48, 0.48, fill=(255, 255, 255))


_CROSS: Points = [(-0.32, -0.95), (0.32, -0.95), (0.32, -0.32), (0.95, -0.32), (0.95, 0.32), (0.32, 0.32)]
_CROSS += [(-x, -y) for x, y in _CROSS]

SHAPES: dict[str, Callable[[Pen], None]] = {
    "circle": lambda pen: pen.ellipse(-0.95, -0.95, 0.95, 0.95),
    "square": lambda pen: pen.polygon([(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)]),
    "triangle": lambda pen: pen.polygon([(0, -0.95), (0.98, 0.8), (-0.98, 0.8)]),
    "diamond": lambda pen: pen.polygon([(0, -1), (0.7, 0), (0, 1), (-0.7, 0)]),
    "star": lambda pen: pen.polygon(_around(10, (1.05, 0.44))),
    "heart": _heart,
    "moon": _moon,
    "cross": lambda pen: pen.polygon(_CROSS),
    "ring": _ring,
    "house": _house,
    "tree": _tree,
    "fish": _fish,
    "car": _car,
    "flower": _flower,
}


def _places(scene: Scene, rng: np.random.Generator) -> list[tuple[float, float, float]]:
    """(x, y, radius) of each thing, in fractions of the picture's side. Two things never touch."""
    if scene.relation is None:
        radius = rng.uniform(0.15, 0.3)
        return [(*rng.uniform(radius + 0.03, 0.97 - radius, 2), radius)]
    along = [rng.uniform(0.22, 0.30), rng.uniform(0.70, 0.78)]  # the axis that the relation speaks of
    across = [0.5 + offset for offset in rng.uniform(-0.16, 0.16, 2)]
    radii = rng.uniform(0.14, 0.2, 2)
    points = list(zip(along, across, strict=True))
    if scene.relation == "above":
        points = [(x, y) for y, x in points]
    return [(x, y, r) for (x, y), r in zip(points, radii, strict=True)]


def draw(scene: Scene, seed: int, size: int = 256) -> Image.Image:
    """The picture of a scene, ``size`` x ``size`` RGB; the same for the same seed."""
    rng = np.random.default_rng(seed)
    side = 2 * size  # drawn at twice the size, then reduced, for smooth edges
    background = np.array(BACKGROUNDS[rng.integers(len(BACKGROUNDS))]) + rng.integers(-6, 6, 3)
    image = Image.new("RGB", (side, side), tuple(int(v) for v in background.clip(0, 255)))
    canvas = ImageDraw.Draw(image)
    for (colour, kind), (x, y, radius) in zip(scene.things, _places(scene, rng), strict=True):
        fill = (np.array(PALETTE[colour]) + rng.integers(-12, 13, 3)).clip(0, 255)
        edge = (fill * 0.6).astype(int) if colour != "black" else np.array((90, 90, 96))
        pen = Pen(canvas, (x * side, y * side), radius * side, tuple(map(int, fill)), tuple(map(int, edge)))
        SHAPES[kind](pen)
    return image.reduce(2)
