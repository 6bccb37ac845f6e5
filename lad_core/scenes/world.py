"""What can be in a scene and how it is said: kinds, colours, relations, captions.

A :class:`Scene` is what a picture shows, without its looks (place, size and background are drawn in
:mod:`lad_core.scenes.draw`). Two scenes are equal if and only if the same captions are true of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

KINDS = (
    "circle",
    "square",
    "triangle",
    "diamond",
    "star",
    "heart",
    "moon",
    "cross",
    "ring",
    "house",
    "tree",
    "fish",
    "car",
    "flower",
)
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "black")
#: Each relation as it reads from the first object, with the words that say the same from the second one.
INVERSE = {"left of": "right of", "above": "below"}

Thing = tuple[str, str]  # (colour, kind)


@dataclass(frozen=True)
class Scene:
    """One or two things. With two, the first is the left one ("left of") or the upper one ("above")."""

    things: tuple[Thing, ...]
    relation: str | None = None

    @property
    def swapped(self) -> Scene:
        """The same two things the other way round: a scene that differs from this one by order alone."""
        return Scene(self.things[::-1], self.relation)


def name(thing: Thing) -> str:
    """``("orange", "fish")`` -> ``"an orange fish"``."""
    colour, kind = thing
    return f"{'an' if colour[0] in 'aeiou' else 'a'} {colour} {kind}"


def captions(scene: Scene) -> tuple[str, ...]:
    """All captions that are said of a scene: one for one thing, one from either side for two."""
    if scene.relation is None:
        return (name(scene.things[0]),)
    first, second = scene.things
    return (
        f"{name(first)} {scene.relation} {name(second)}",
        f"{name(second)} {INVERSE[scene.relation]} {name(first)}",
    )


def is_true_of(described: Scene, shown: Scene) -> bool:
    """Whether the captions of ``described`` are also true of the picture of ``shown``.

    "A red fish" is true of every picture with a red fish in it, alone or beside something else.
    """
    if described.relation is None:
        return described.things[0] in shown.things
    return described == shown


def random_thing(rng: np.random.Generator) -> Thing:
    return COLOURS[rng.integers(len(COLOURS))], KINDS[rng.integers(len(KINDS))]


def random_scene(rng: np.random.Generator, pair: float = 0.6) -> Scene:
    """A scene with two different things with probability ``pair``, else with one."""
    first = random_thing(rng)
    if rng.random() >= pair:
        return Scene((first,))
    second = random_thing(rng)
    while second == first:
        second = random_thing(rng)
    return Scene((first, second), tuple(INVERSE)[rng.integers(len(INVERSE))])


def near_scene(scene: Scene, rng: np.random.Generator) -> Scene:
    """A scene that differs from ``scene`` in one attribute of one thing, or in the order of its two things."""
    if scene.relation is not None and rng.random() < 0.2:
        return scene.swapped
    which = rng.integers(len(scene.things))
    colour, kind = scene.things[which]
    changed = (
        (COLOURS[rng.integers(len(COLOURS))], kind) if rng.random() < 0.5 else (colour, random_thing(rng)[1])
    )
    things = list(scene.things)
    things[which] = changed
    if changed == (colour, kind) or len(set(things)) < len(things):
        return near_scene(scene, rng)
    return Scene(tuple(things), scene.relation)


def scene_group(n: int, setting: str, rng: np.random.Generator) -> list[Scene]:
    """``n`` scenes, the first of which is the target: its captions are true of no other.

    ``"random"`` draws the distractors freely, ``"adversarial"`` makes each differ from the target in one
    attribute or in the order of the two things.
    """
    if setting not in ("random", "adversarial"):
        raise ValueError(f'setting must be "random" or "adversarial", not {setting!r}.')
    target = random_scene(rng, pair=0.6 if setting == "random" else 0.8)
    group = [target]
    while len(group) < n:
        scene = random_scene(rng) if setting == "random" else near_scene(target, rng)
        if not is_true_of(target, scene) and scene not in group:
            group.append(scene)
    return group
