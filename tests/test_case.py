from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from lad_core.case import MAX_QUERY_CHARACTERS, Case, parse_order


def pictures(n: int) -> tuple[Image.Image, ...]:
    return tuple(Image.new("RGB", (4, 4), (i, 0, 0)) for i in range(n))


def a_case(n: int = 4, **changes) -> Case:
    return Case(**{"query": "a red fish", "images": pictures(n), "target": n - 1} | changes)


permutations = st.integers(2, 12).flatmap(lambda n: st.permutations(range(n)))


@given(permutations)
def test_seats_and_images_are_inverse(order):
    case = a_case(len(order), order=tuple(order))
    assert [case.order[case.seat_of(image)] for image in range(case.n)] == list(range(case.n))
    assert case.seated_images[case.target_seat] is case.images[case.target]


@given(permutations, st.integers(-20, 20))
def test_rotation_moves_everyone_by_the_same(order, by):
    case = a_case(len(order), order=tuple(order))
    rotated = case.rotated(by)
    for seat in range(case.n):
        assert rotated.order[(seat + by) % case.n] == case.order[seat]
    assert rotated.rotated(-by) == case


@given(permutations, st.integers(0, 99))
def test_shuffles_keep_the_target(order, seed):
    case = a_case(len(order), order=tuple(order))
    shuffled = case.shuffled(seed)
    assert shuffled == a_case(len(order)).shuffled(seed)
    assert shuffled.target == case.target
    assert sorted(shuffled.order) == list(range(case.n))


def test_rearranged_names_who_comes():
    assert a_case(4, order=(3, 1, 0, 2)).rearranged((2, 0, 1, 3)).order == (0, 3, 1, 2)


def test_reversed_and_moved():
    case = a_case(4)
    assert case.reversed().order == (3, 2, 1, 0)
    assert case.moved(0, 2).order == (1, 2, 0, 3)
    assert case.moved(3, 0).order == (3, 0, 1, 2)


def test_parse_order():
    assert parse_order("3,1, 2", 3) == (2, 0, 1)
    assert parse_order("2 1", 2) == (1, 0)


@pytest.mark.parametrize(
    "text", ["1,2", "1,2,2", "0,1,2", "1,2,4", "a,b,c", "", "1,-2,3", "1.5,2,3", "²,1,3"]
)
def test_orders_that_are_none(text):
    with pytest.raises(ValueError, match="order must"):
        parse_order(text, 3)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"query": "  \n"}, "query is empty"),
        ({"query": "a" * (MAX_QUERY_CHARACTERS + 1)}, "shorten it to 2,000"),
        ({"images": ()}, "2 to 12 images; there are none"),
        ({"images": pictures(1)}, "2 to 12 images; there is only 1"),
        ({"images": pictures(13)}, "2 to 12 images; there are 13"),
        ({"order": (0, 1, 1, 2)}, "each of the images 1 to 4 once"),
        ({"order": (0, 1)}, "each of the images 1 to 4 once"),
        ({"target": 4}, "images 1 to 4, not 5"),
        ({"target": -1}, "images 1 to 4, not 0"),
    ],
)
def test_bad_cases_are_refused_in_one_sentence(changes, says):
    with pytest.raises(ValueError, match=says) as error:
        a_case(**changes)
    assert "\n" not in str(error.value)


def test_there_is_no_seat_outside():
    with pytest.raises(ValueError, match="no seat 5"):
        a_case(4).moved(0, 4)
