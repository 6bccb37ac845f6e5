from __future__ import annotations

import pytest

from lad_core.prompts import IDENTIFIER_FORMATS, identifiers, prompt


def test_the_papers_prompt():
    assert prompt("a red fish", 8) == (
        "Given 8 images indexed from 1 to 8, identify the image that best matches the provided caption. "
        "Respond with the index number only and nothing else.\nCaption: a red fish\nAnswer: "
    )


def test_identifiers():
    assert identifiers(12)[9:] == ("10", "11", "12")
    assert identifiers(3, "letters") == ("A", "B", "C")
    assert identifiers(3, "lowercase") == ("a", "b", "c")
    assert identifiers(12, "roman")[7:] == ("VIII", "IX", "X", "XI", "XII")
    assert identifiers(2, "words") == ("one", "two")


@pytest.mark.parametrize("format", IDENTIFIER_FORMATS)
def test_identifiers_differ_and_are_named_in_the_prompt(format):
    names = identifiers(12, format)
    assert len(set(names)) == 12
    assert f"from {names[0]} to {names[-1]}," in prompt("x", 12, format)


def test_what_there_is_not():
    with pytest.raises(ValueError, match="identifiers must be one of"):
        identifiers(3, "emoji")
    with pytest.raises(ValueError, match="between 1 and 12, not 13"):
        identifiers(13)
