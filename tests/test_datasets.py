"""Scenes, annotation files and folders of saved cases give the same kind of data set."""

import json

import numpy as np
import pytest
from PIL import Image

from lad_core.case import Case
from lad_core.datasets import cases_to_calibrate_on, kept_images, open_dataset, write_annotations
from lad_core.saved_cases import SavedCase, save_case


def picture(shade: int) -> Image.Image:
    return Image.new("RGB", (16, 16), (shade, 0, 0))


def shade(image: Image.Image) -> int:
    return image.getpixel((0, 0))[0]


@pytest.fixture
def annotated(tmp_path):
    """Three entries of four pictures; the shade tells which picture it is."""
    for i in range(12):
        picture(20 * i).save(tmp_path / f"p{i}.png")
    entries = [
        {
            "id": f"case-{c}",
            "image_ids": [f"p{4 * c + i}.png" for i in range(4)],
            "index": index,
            "target": f"p{4 * c + index}.png",
            "caption": f"caption {c}",
        }
        for c, index in enumerate((0, 3, 2))
    ]
    file = tmp_path / "annotations.json"
    file.write_text(json.dumps(entries))
    return file


def edit(file, entry, **changes):
    entries = json.loads(file.read_text())
    entries[entry] = {key: value for key, value in (entries[entry] | changes).items() if value != "DROP"}
    file.write_text(json.dumps(entries))


def same(a: Case, b: Case) -> bool:
    pixels = (np.array_equal(np.asarray(x), np.asarray(y)) for x, y in zip(a.images, b.images, strict=True))
    return (a.query, a.target, a.id, a.order) == (b.query, b.target, b.id, b.order) and all(pixels)


# ---- scenes ----


def test_scenes_are_the_same_for_the_same_seed_and_others_for_another():
    one = open_dataset("scenes:random", n=3, cases=4, seed=5)
    again = open_dataset("scenes:random", n=3, cases=4, seed=5)
    other = open_dataset("scenes:random", n=3, cases=4, seed=6)
    assert (len(one), one.n, one[0].n) == (4, 3, 3)
    assert all(same(a, b) for a, b in zip(one, again, strict=True))
    assert not any(same(a, b) for a, b in zip(one, other, strict=True))
    assert len({case.id for case in [*one, *other]}) == 8


def test_scenes_have_defaults():
    data = open_dataset("scenes:adversarial")
    assert (data.n, len(data), data.name) == (8, 200, "scenes:adversarial")


def test_scenes_to_calibrate_on_are_none_of_the_test_scenes():
    data = open_dataset("scenes:random", n=2, cases=10, seed=0)
    cases, source = cases_to_calibrate_on(data, 5, seed=0)
    assert len(cases) == 5
    assert "5 dealt" in source
    tested = {case.images[0].tobytes() for case in data}
    assert not tested & {image.tobytes() for case in cases for image in case.images}


# ---- the released code's annotations ----


def test_annotations_are_read(annotated):
    data = open_dataset(annotated)
    assert (len(data), data.n) == (3, 4)
    assert [(case.id, case.query, case.target) for case in data] == [
        ("case-0", "caption 0", 0), ("case-1", "caption 1", 3), ("case-2", "caption 2", 2),
    ]  # fmt: skip
    assert [shade(image) for image in data[1].images] == [80, 100, 120, 140]


def test_a_folder_with_annotations_is_read(annotated):
    assert len(open_dataset(annotated.parent)) == 3


def test_longer_lists_are_cut_and_keep_their_target(annotated):
    data = open_dataset(annotated, n=3)
    assert [[shade(image) for image in case.images] for case in data] == [
        [0, 20, 40],
        [80, 100, 140],
        [160, 180, 200],
    ]
    assert [case.target for case in data] == [0, 2, 2]


@pytest.mark.parametrize("target", range(6))
@pytest.mark.parametrize("n", range(2, 7))
def test_a_cut_keeps_n_images_with_the_target(n, target):
    kept = kept_images(6, target, n)
    assert len(set(kept)) == n
    assert target in kept


def test_as_many_cases_as_asked_for_and_the_rest_is_for_calibration(annotated):
    data = open_dataset(annotated, cases=1)
    assert [case.id for case in data] == ["case-0"]
    cases, source = cases_to_calibrate_on(data, 2)
    assert [case.id for case in cases] == ["case-1", "case-2"]
    assert "2 other cases" in source


def test_where_no_entries_are_left_calibration_is_on_scenes(annotated):
    cases, source = cases_to_calibrate_on(open_dataset(annotated), 2)
    assert [case.n for case in cases] == [4, 4]
    assert "dealt" in source


@pytest.mark.parametrize("named", ["p0", "p0.png", "elsewhere/p0.png", "data/val2014/p0"])
def test_images_are_found_with_and_without_ending_and_folder(annotated, named):
    edit(annotated, 0, image_ids=[named, "p1", "p2.png", "p3.png"], target="p0.png")
    assert shade(open_dataset(annotated)[0].images[0]) == 0


def test_images_in_another_folder(annotated, tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for file in tmp_path.glob("*.png"):
        file.rename(folder / file.name)
    assert len(open_dataset(annotated, image_root=folder)) == 3
    with pytest.raises(ValueError, match=r"entry 1: there is no image 'p0\.png'"):
        open_dataset(annotated)
    with pytest.raises(ValueError, match="There is no folder of images"):
        open_dataset(annotated, image_root=tmp_path / "nowhere")


def test_id_and_target_may_be_left_out(annotated):
    edit(annotated, 1, id="DROP", target="DROP")
    assert open_dataset(annotated)[1].id == "2"


def test_numbers_may_name_images(annotated):
    picture(255).save(annotated.parent / "42.png")
    edit(annotated, 0, image_ids=[42, "p1.png", "p2.png", "p3.png"], target=42)
    assert shade(open_dataset(annotated)[0].images[0]) == 255


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"image_ids": "DROP"}, 'it has no "image_ids"'),
        ({"index": "DROP"}, 'it has no "index"'),
        ({"caption": "DROP"}, 'it has no "caption"'),
        ({"image_ids": "p4.png"}, '"image_ids" must be a list'),
        ({"image_ids": [None, "p5.png"]}, '"image_ids" must be a list'),
        ({"image_ids": ["p4.png"], "index": 0, "target": "p4.png"}, "it has 1 images, fewer than 2"),
        (
            {"image_ids": ["p4.png", "p5.png"], "index": 0, "target": "p4.png"},
            "it has 2 images, fewer than 4",
        ),
        ({"image_ids": ["p4.png", "p5.png", "gone.png", "p7.png"]}, "there is no image 'gone.png'"),
        ({"index": 4}, '"index" must be a whole number from 0 to 3, not 4'),
        ({"index": -1}, '"index" must be'),
        ({"index": "1"}, '"index" must be'),
        ({"index": True}, '"index" must be'),
        ({"index": 2}, "\"target\" is 'p7.png', but \"index\" 2 is the image 'p6.png'"),
        ({"caption": ""}, '"caption" must be'),
        ({"caption": ["one", "two"]}, '"caption" must be'),
    ],
)
def test_a_malformed_entry_is_named(annotated, changes, says):
    edit(annotated, 1, **changes)
    with pytest.raises(ValueError, match=r"annotations\.json, entry 2: ") as refused:
        open_dataset(annotated, n=4)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_entries_must_be_objects(annotated):
    annotated.write_text('[{"image_ids": ["p0", "p1"], "index": 0, "caption": "x"}, 5]')
    with pytest.raises(ValueError, match="entry 2: it is not an object"):
        open_dataset(annotated)


def test_a_picture_that_is_none_is_named_with_its_entry(annotated):
    (annotated.parent / "p5.png").write_text("no picture")
    data = open_dataset(annotated)
    assert data[0].n == 4
    with pytest.raises(ValueError, match=r"entry 2: .*p5\.png"):
        data[1]


@pytest.mark.parametrize("content", ["{}", "[]", "3", "nonsense"])
def test_what_is_no_annotation_file_is_refused(tmp_path, content):
    file = tmp_path / "a.json"
    file.write_text(content)
    with pytest.raises(ValueError, match=r"a\.json is (no annotation file|not a JSON file)"):
        open_dataset(file)


def test_cases_of_differing_length_need_n(annotated):
    edit(annotated, 1, image_ids=["p4.png", "p5.png"], index=0, target="p4.png")
    with pytest.raises(ValueError, match="2 to 4 images"):
        open_dataset(annotated)
    assert [case.n for case in open_dataset(annotated, n=2)] == [2, 2, 2]


@pytest.mark.parametrize(
    ("source", "given", "says"),
    [
        ("scenes:odd", {}, "There are no scenes 'odd'"),
        ("scenes:random", {"n": 1}, "n must be between 2 and 12"),
        ("scenes:random", {"n": 13}, "n must be between 2 and 12"),
        ("scenes:random", {"cases": 0}, "cases must be at least 1"),
        ("scenes:random", {"seed": -1}, "seed must not be negative"),
        ("nowhere", {}, "There is no data set 'nowhere'"),
    ],
)
def test_a_data_set_that_is_none_is_refused(source, given, says):
    with pytest.raises(ValueError, match=says):
        open_dataset(source, **given)


def test_written_annotations_read_back(tmp_path):
    dealt = open_dataset("scenes:adversarial", n=3, cases=3, seed=2)
    file = write_annotations(dealt, tmp_path / "dealt")
    entries = json.loads(file.read_text())
    assert all(set(entry) == {"id", "image_ids", "index", "target", "caption"} for entry in entries)
    assert all(entry["image_ids"][entry["index"]] == entry["target"] for entry in entries)
    read = open_dataset(file)
    assert all(same(a, b) for a, b in zip(dealt, read, strict=True))


def test_annotations_need_a_target(tmp_path):
    with pytest.raises(ValueError, match="Case 1 has no target"):
        write_annotations([Case("x", (picture(0), picture(1)))], tmp_path)


# ---- saved cases ----


def test_a_folder_of_saved_cases(tmp_path):
    for name, target in (("b", 1), ("a", 2)):
        case = Case(name, tuple(picture(s) for s in (0, 100, 200)), order=(2, 0, 1), target=target)
        save_case(SavedCase(case), tmp_path / f"{name}.json")
    data = open_dataset(tmp_path)
    assert [(case.id, case.target, case.order) for case in data] == [("a", 2, (2, 0, 1)), ("b", 1, (2, 0, 1))]
    assert len(open_dataset(tmp_path / "a.json")) == 1
    cut = open_dataset(tmp_path, n=2)[0]
    assert ([shade(image) for image in cut.images], cut.target) == ([0, 200], 1)
    with pytest.raises(ValueError, match="fewer than 4 images"):
        open_dataset(tmp_path, n=4)


def test_saved_cases_must_have_a_target(tmp_path):
    save_case(SavedCase(Case("x", (picture(0), picture(9)))), tmp_path / "open.json")
    with pytest.raises(ValueError, match=r"open\.json leaves open"):
        open_dataset(tmp_path)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"holds neither annotations\.json nor saved cases"):
        open_dataset(tmp_path)
