"""Saved cases read back as they were written; all else is refused in one sentence that names the file."""

import json

import numpy as np
import pytest
from PIL import Image

from lad_core.case import Case
from lad_core.saved_cases import SavedCase, list_examples, load_case, save_case

COLOURS = ("red", "green", "blue")


@pytest.fixture
def saved():
    images = tuple(Image.new("RGB", (20, 10 + i), colour) for i, colour in enumerate(COLOURS))
    case = Case("a “blue” field", images, order=(2, 0, 1), target=2, id="fields")
    return SavedCase(
        case, title="Fields", note="Three of them.", identifiers="letters", model="scene-vlm-fair"
    )


@pytest.fixture
def written(saved, tmp_path):
    path = tmp_path / "fields.json"
    save_case(saved, path)
    return path


def edit(path, **changes):
    content = json.loads(path.read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps(content), encoding="utf-8")


def test_a_case_reads_back_as_it_was_saved(saved, written):
    read = load_case(written)
    assert (read.title, read.note, read.identifiers, read.model) == (
        "Fields", "Three of them.", "letters", "scene-vlm-fair",
    )  # fmt: skip
    assert (read.case.query, read.case.order, read.case.target, read.case.id) == (
        "a “blue” field",
        (2, 0, 1),
        2,
        "fields",
    )
    for before, after in zip(saved.case.images, read.case.images, strict=True):
        np.testing.assert_array_equal(np.asarray(before), np.asarray(after))


def test_people_count_from_one_in_the_file(written):
    content = json.loads(written.read_text(encoding="utf-8"))
    assert content["order"] == [3, 1, 2]
    assert content["target"] == 3
    assert content["images"] == ["fields-1.png", "fields-2.png", "fields-3.png"]


def test_an_open_target_stays_open(saved, tmp_path):
    open_case = Case(saved.case.query, saved.case.images)
    save_case(SavedCase(open_case), tmp_path / "open.json")
    assert load_case(tmp_path / "open.json").case.target is None


def test_only_what_a_case_needs_has_to_be_there(written):
    content = json.loads(written.read_text(encoding="utf-8"))
    short = {key: content[key] for key in ("format", "version", "query", "images")}
    written.write_text(json.dumps(short), encoding="utf-8")
    read = load_case(written)
    assert (read.title, read.note, read.identifiers, read.model) == ("fields", "", "numbers", "scene-vlm")
    assert read.case.order == (0, 1, 2)


def test_examples_are_listed_by_name(saved, tmp_path):
    for name in ("b.json", "a.json"):
        save_case(saved, tmp_path / name)
    assert [path.name for path in list_examples(tmp_path)] == ["a.json", "b.json"]
    assert list_examples(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"version": 2}, "version 2"),
        ({"version": None}, "version None"),
        ({"format": "other"}, '"format" is not "lad-case"'),
        ({"images": ["fields-1.png", "gone.png", "fields-3.png"]}, "'gone.png' is missing"),
        ({"images": ["fields-1.png", "../secret.png", "fields-3.png"]}, "must lie in the folder"),
        ({"images": ["fields-1.png", "/etc/passwd", "fields-3.png"]}, "must lie in the folder"),
        ({"images": ["fields-1.png", 7, "fields-3.png"]}, '"images" must be a list of file names'),
        ({"images": "fields-1.png"}, '"images" must be a list'),
        ({"images": ["fields-1.png"], "order": [1], "target": 1}, "fields.json: "),
        ({"order": [1, 1, 2]}, "fields.json: "),
        ({"order": [0, 1, 2]}, "fields.json: "),
        ({"order": [1, 2]}, "fields.json: "),
        ({"order": ["1", "2", "3"]}, "whole numbers"),
        ({"order": [True, 2, 3]}, "whole numbers"),
        ({"target": 4}, "fields.json: "),
        ({"target": 0}, "fields.json: "),
        ({"target": "2"}, "whole numbers"),
        ({"query": " "}, "fields.json: "),
        ({"query": 5}, '"query" must be a text'),
        ({"identifiers": "emoji"}, '"identifiers" must be one of'),
        ({"title": None}, '"title" must be a text'),
    ],
)
def test_a_malformed_case_is_refused(written, changes, says):
    edit(written, **changes)
    with pytest.raises(ValueError, match=r"fields\.json") as refused:
        load_case(written)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"not json", b"\xff\xfe\x00", b"", b"[1, 2]", b"[" * 100_000])
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "case.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"case\.json is (not a JSON file|no saved case)"):
        load_case(path)


def test_a_case_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"There is no file .*gone\.json"):
        load_case(tmp_path / "gone.json")


def test_a_picture_that_is_none_is_refused(written):
    (written.parent / "fields-2.png").write_text("no picture")
    with pytest.raises(ValueError, match=r"fields-2\.png"):
        load_case(written)
