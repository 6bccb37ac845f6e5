"""The embedded model's world: what is true of a picture, what is dealt, and what is planted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lad_core.scenes.deal import SETTINGS, calibration_cases, deal
from lad_core.scenes.draw import PALETTE, SHAPES, draw
from lad_core.scenes.habit import PUBLISHED, habit
from lad_core.scenes.packing import pack
from lad_core.scenes.world import (
    COLOURS,
    KINDS,
    Scene,
    captions,
    is_true_of,
    near_scene,
    random_scene,
    scene_group,
)

FISH_HOUSE = Scene((("red", "fish"), ("blue", "house")), "left of")


def test_the_world_is_as_wide_as_promised():
    assert len(KINDS) >= 12
    assert len(COLOURS) >= 8
    assert set(KINDS) == set(SHAPES)
    assert set(COLOURS) == set(PALETTE)


def test_captions_from_either_side():
    assert captions(FISH_HOUSE) == (
        "a red fish left of a blue house",
        "a blue house right of a red fish",
    )
    assert captions(Scene((("orange", "star"),))) == ("an orange star",)


def test_what_is_true_of_a_picture():
    fish = Scene((("red", "fish"),))
    assert is_true_of(fish, FISH_HOUSE)
    assert not is_true_of(FISH_HOUSE, fish)
    assert not is_true_of(FISH_HOUSE, FISH_HOUSE.swapped)
    assert is_true_of(FISH_HOUSE, FISH_HOUSE)


@given(st.integers(0, 10_000), st.integers(2, 12), st.sampled_from(SETTINGS))
def test_a_groups_caption_is_true_of_its_target_alone(seed, n, setting):
    group = scene_group(n, setting, np.random.default_rng(seed))
    assert len(group) == n
    assert not any(is_true_of(group[0], other) for other in group[1:])


@given(st.integers(0, 10_000))
def test_near_scenes_differ_in_one_thing(seed):
    rng = np.random.default_rng(seed)
    scene = random_scene(rng)
    near = near_scene(scene, rng)
    changed = sum(
        a != b for s, t in zip(scene.things, near.things, strict=True) for a, b in zip(s, t, strict=True)
    )
    assert near == scene.swapped or changed == 1
    assert near != scene


def test_relations_lie_as_they_are_said():
    """The red thing's pixels against the blue one's, for both relations, in many drawings."""
    for seed in range(20):
        for relation, axis in (("left of", 1), ("above", 0)):
            scene = Scene((("red", "circle"), ("blue", "square")), relation)
            pixels = np.asarray(draw(scene, seed), dtype=int)
            red = np.argwhere((pixels[..., 0] > 190) & (pixels[..., 2] < 90)).mean(axis=0)
            blue = np.argwhere((pixels[..., 2] > 190) & (pixels[..., 0] < 90)).mean(axis=0)
            assert red[axis] < blue[axis] - 40


def test_dealing_is_the_same_for_the_same_seed():
    first, again, other = deal(5, "adversarial", 3), deal(5, "adversarial", 3), deal(5, "adversarial", 4)
    assert first.query == again.query
    assert [i.tobytes() for i in first.images] == [i.tobytes() for i in again.images]
    assert [i.tobytes() for i in first.images] != [i.tobytes() for i in other.images]


def test_targets_sit_everywhere():
    assert {deal(6, seed=s).target for s in range(60)} == set(range(6))


def test_calibration_scenes_are_no_test_scenes():
    dealt = {i.tobytes() for s in range(20) for i in deal(8, seed=s).images}
    assert not dealt & {i.tobytes() for case in calibration_cases(8) for i in case.images}


@pytest.mark.parametrize(
    ("n", "setting", "says"), [(1, "random", "n must"), (13, "random", "n must"), (4, "odd", "setting must")]
)
def test_what_cannot_be_dealt(n, setting, says):
    with pytest.raises(ValueError, match=says):
        deal(n, setting)


@pytest.mark.parametrize("n", range(2, 13))
def test_the_habit_is_a_distribution_and_depends_on_the_target(n):
    planted = habit(n)
    assert planted.shape == (n, n)
    np.testing.assert_allclose(planted.sum(axis=1), 1)
    assert planted.min() > 0
    assert np.abs(planted[0] - planted[-1]).sum() > 0.5


def test_at_eight_the_habit_is_the_published_one():
    np.testing.assert_allclose(100 * habit(8), PUBLISHED, atol=4.5)  # rows are normalised after the floor
    assert (habit(8).argmax(axis=1) == PUBLISHED.argmax(axis=1)).all()


def test_at_four_the_habit_is_its_block_sum():
    blocks = habit(8).reshape(4, 2, 4, 2).mean(axis=1).sum(axis=2)
    np.testing.assert_allclose(habit(4), blocks)


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), min_size=1, max_size=8))
def test_packed_tokens_see_their_own_sequence(sequences):
    packed = pack(sequences)
    for sequence, path in zip(sequences, packed.paths, strict=True):
        assert packed.tokens[path].tolist() == sequence
        assert packed.depth[path].tolist() == list(range(len(sequence)))
        for place, node in enumerate(path):
            assert np.flatnonzero(packed.mask[node]).tolist() == sorted(path[: place + 1])
