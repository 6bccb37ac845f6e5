"""``python -m lad_core``: what it prints, the JSON that is promised, one line for each kind of bad input."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zlib
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from small_models import save_qwen2_5_vl

import lad_core.models
from lad_core.__main__ import main
from lad_core.commands.shared import lay_out, parse_layers, plain, table
from lad_core.datasets import open_dataset
from lad_core.saved_cases import SavedCase, save_case

ROOT = Path(__file__).resolve().parents[1]


def command(*arguments: object, folder: Path | None = None) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "lad_core", *map(str, arguments)],
        capture_output=True, text=True, timeout=120, cwd=folder or ROOT, env=environment, check=False,
    )  # fmt: skip


def refused(*arguments: object, folder: Path | None = None) -> str:
    """What a command says to bad input, after it was checked that this is one line, with exit code 2."""
    done = command(*arguments, folder=folder)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture(scope="module", autouse=True)
def loaded_once():
    """Commands that run in this process share what they load."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lad_core.models, "load_model", lru_cache(lad_core.models.load_model))
        yield


@pytest.fixture(scope="module")
def dealt(tmp_path_factory) -> Path:
    """A folder with two cases of three images."""
    folder = tmp_path_factory.mktemp("dealt")
    assert main(["deal", "--n", "3", "--cases", "2", "--seed", "3", "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    return str(save_qwen2_5_vl(tmp_path_factory.mktemp("models") / "small"))


@pytest.fixture(scope="module")
def calibration(model, tmp_path_factory) -> str:
    file = tmp_path_factory.mktemp("calibrations") / "three.json"
    assert main(["calibrate", "--model", model, "--n", "3", "--cases", "2", "--out", str(file)]) == 0
    return str(file)


@pytest.fixture
def images(dealt) -> list[str]:
    return [str(dealt / f"0001-{i}.png") for i in (1, 2, 3)]


# ---- help ----


def test_help_needs_no_torch():
    code = (
        "import sys, lad_core.__main__ as m\ntry: m.main(['--help'])\nfinally: print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "False"
    for name in ("explain", "deal", "calibrate", "evaluate", "train", "models"):
        assert name in done.stdout


@pytest.mark.parametrize("name", ["explain", "deal", "calibrate", "evaluate", "train", "models"])
def test_each_command_explains_itself_with_an_example(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert f"example:\n  python -m lad_core {name}" in said


# ---- deal, evaluate ----


def test_dealt_cases_are_read_back_by_data(dealt):
    entries = json.loads((dealt / "annotations.json").read_text())
    assert [set(entry) for entry in entries] == [{"id", "image_ids", "index", "target", "caption"}] * 2
    read, scenes = (
        open_dataset(dealt / "annotations.json"),
        open_dataset("scenes:random", n=3, cases=2, seed=3),
    )
    for entry, case, scene in zip(entries, read, scenes, strict=True):
        assert entry["image_ids"][entry["index"]] == entry["target"]
        assert (case.query, case.target) == (entry["caption"], entry["index"]) == (scene.query, scene.target)
        assert all(np.array_equal(a, b) for a, b in zip(case.images, scene.images, strict=True))


def test_evaluate_prints_the_promised_json(dealt, model, calibration, capsys):
    arguments = ["--data", str(dealt / "annotations.json"), "--model", model, "--orders", "3", "--seed", "7"]
    methods = ["vanilla", "purified", "debiased", "permutation"]
    options = ["--n", "3", "--cases", "2", "--calibration", calibration, "--methods", ",".join(methods)]
    assert main(["evaluate", *arguments, *options, "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["model"] == "small"
    assert {key: found[key] for key in ("n", "cases", "orders", "seed")} == {
        "n": 3,
        "cases": 2,
        "orders": 3,
        "seed": 7,
    }
    assert found["data"].endswith("annotations.json")
    assert [result["method"] for result in found["results"]] == methods
    for result in found["results"]:
        table = np.array(result["confusion"])
        assert table.shape == (3, 3)
        assert table.sum() == 6
        assert result["accuracy"] == pytest.approx(100 * np.trace(table) / 6)
        assert all(0 <= result[key] <= 100 for key in ("accuracy", "accuracy_std", "rstd", "consistency"))
        assert result["forward_passes"] == (3 if result["method"] == "permutation" else 1)
        assert result["seconds"] > 0
    assert "cases 2/2" in said.err


def test_evaluate_on_scenes_and_on_the_same_scenes_written_down_agree(dealt, model, calibration, capsys):
    options = ["--model", model, "--n", "3", "--cases", "2", "--orders", "2", "--seed", "3", "--json"]
    options += ["--calibration", calibration]
    found = []
    for data in ("scenes:random", str(dealt)):
        assert main(["evaluate", "--data", data, *options]) == 0
        results = json.loads(capsys.readouterr().out)["results"]
        found.append(
            [{key: value for key, value in result.items() if key != "seconds"} for result in results]
        )
    assert found[0] == found[1]


def test_evaluate_without_json_prints_a_table_and_goes_on(dealt, model, tmp_path, capsys):
    arguments = ["evaluate", "--data", str(dealt), "--model", model, "--methods", "vanilla", "--orders", "2"]
    arguments += ["--resume", str(tmp_path / "record.jsonl")]
    assert main(arguments) == 0
    first = capsys.readouterr().out
    assert "2 cases of 3 images" in first
    assert any(line.startswith("vanilla") for line in first.splitlines())
    assert main(arguments) == 0
    assert capsys.readouterr().out == first  # the time too: nothing was observed again


# ---- explain ----


def test_explain_prints_the_promised_json(images, model, calibration, capsys):
    arguments = ["--query", "a red fish", "--images", *images, "--order", "3,1,2", "--target", "2"]
    assert main(["explain", *arguments, "--model", model, "--calibration", calibration, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["order"] == [3, 1, 2]
    assert found["vanilla_image"] == found["order"][found["vanilla"] - 1]
    assert found["debiased_image"] == found["order"][found["debiased"] - 1]
    assert found["vanilla"] == np.argmax(found["log_probs"]) + 1
    assert found["debiased"] == np.argmax(found["log_p_vis"]) + 1
    for key in ("log_probs", "log_prior", "log_p_vis"):
        assert np.exp(found[key]).sum() == pytest.approx(1), key
    assert sum(found["posterior"]) == pytest.approx(1)
    difference = np.array(found["log_probs"]) - found["log_prior"] - found["log_p_vis"]
    assert np.ptp(difference) < 1e-9  # Eq. 14, up to normalisation
    assert np.shape(found["attention"]) == (5, 3)
    assert len(found["selected_layers"]) == 2
    assert found["verdict"].endswith("Right answer: 3.")  # image 2 sits at seat 3


def test_explain_takes_settings(images, model, calibration, capsys):
    arguments = ["explain", "--query", "a red fish", "--images", *images, "--model", model, "--json"]
    settings = ["--calibration", calibration, "--layers", "1-3", "--top-k", "3", "--temperature", "0"]
    assert main([*arguments, *settings]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["selected_layers"] == [1, 2, 3]
    assert found["posterior"] == pytest.approx([1 / 3] * 3)
    answers = []
    for variant in ("paper", "released"):
        assert main([*arguments, "--calibration", calibration, "--variant", variant]) == 0
        answers.append(json.loads(capsys.readouterr().out)["log_p_vis"])
    assert answers[0] != pytest.approx(answers[1])


def test_explain_without_a_calibration_says_how_to_make_one(images, model, capsys):
    assert main(["explain", "--query", "a red fish", "--images", *images, "--model", model, "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert 1 <= found["vanilla"] <= 3
    assert {found[key] for key in ("debiased", "debiased_image", "looked_at")} == {None}
    assert found["posterior"] is found["log_prior"] is found["log_p_vis"] is found["selected_layers"] is None
    assert f"calibrate --model {model} --n 3 --identifiers numbers" in said.err


def test_explain_names_words_that_the_model_does_not_know(images, model, capsys):
    assert main(["explain", "--query", "a red zebra", "--images", *images, "--model", model, "--json"]) == 0
    said = capsys.readouterr()
    assert "does not know the word 'zebra'" in said.err
    assert any("'zebra'" in warning for warning in json.loads(said.out)["warnings"])


def test_explain_reads_a_saved_case(model, tmp_path, capsys):
    case = open_dataset("scenes:random", n=3, cases=1)[0].with_order((1, 2, 0))
    save_case(SavedCase(case, identifiers="letters", model=model), tmp_path / "case.json")
    assert main(["explain", "--case", str(tmp_path / "case.json"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["model"], found["identifiers"], found["query"]) == ("small", "letters", case.query)
    assert (found["order"], found["target_image"]) == ([2, 3, 1], case.target + 1)
    assert (
        main(
            ["explain", "--case", str(tmp_path / "case.json"), "--order", "3,2,1", "--target", "1", "--json"]
        )
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert (found["order"], found["target_image"]) == ([3, 2, 1], 1)


def test_explain_without_json_is_for_people(images, model, calibration):
    done = command(
        "explain",
        "--query",
        "a red fish",
        "--images",
        *images,
        "--model",
        model,
        "--calibration",
        calibration,
    )
    assert done.returncode == 0
    assert done.stderr == ""
    sentence, _, head, *rows = done.stdout.splitlines()
    assert sentence.startswith("Looks at image ")
    assert head.split() == ["seat", "picture", "says", "looks", "(π)", "habit", "debiased"]
    assert [row.split()[0] for row in rows[:3]] == ["1", "2", "3"]
    assert "0001-2.png" in rows[1]


# ---- the embedded model ----


def test_the_embedded_model_is_explained_with_what_ships_with_it(tmp_path, capsys):
    assert main(["deal", "--n", "4", "--cases", "1", "--seed", "1", "--out", str(tmp_path)]) == 0
    case = json.loads((tmp_path / "annotations.json").read_text())[0]
    images = [str(tmp_path / name) for name in case["image_ids"]]
    capsys.readouterr()
    assert (
        main(["explain", "--query", case["caption"], "--images", *images, "--order", "4,3,2,1", "--json"])
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert (found["model"], found["warnings"]) == ("scene-vlm", [])
    assert found["debiased_image"] == 5 - found["debiased"]
    assert np.shape(found["attention"])[1] == len(found["posterior"]) == 4


def test_the_embedded_model_is_biased_and_put_right(capsys):
    arguments = [
        "--data",
        "scenes:random",
        "--n",
        "8",
        "--cases",
        "15",
        "--orders",
        "3",
        "--seed",
        "7",
        "--json",
    ]
    assert main(["evaluate", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    accuracy = {result["method"]: result["accuracy"] for result in found["results"]}
    assert found["calibration"].startswith("shipped with the model")
    assert accuracy["debiased"] > accuracy["pride"] + 10
    assert accuracy["debiased"] > accuracy["vanilla"] + 20
    assert found["divergence"] > 20


# ---- models ----


def test_models_are_listed_with_their_status(capsys):
    assert main(["models", "--json"]) == 0
    listed = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert {"scene-vlm", "scene-vlm-fair"} <= set(listed)
    assert listed["scene-vlm"]["status"] in ("embedded", "missing")
    assert all(e["status"] in ("downloaded", "not downloaded") for e in listed.values() if not e["embedded"])
    assert main(["models"]) == 0
    assert "scene-vlm-fair" in capsys.readouterr().out


# ---- bad input ----


def png_header(path: Path, width: int, height: int) -> Path:
    """A whole PNG of one colour: its pixels would take gigabytes, its file a few hundred kilobytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(bytes((width + 7) // 8 + 1) * height)
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )
    return path


def test_no_images_one_image_and_too_many(images):
    assert "--images" in refused("explain", "--query", "a fish")
    assert "2 to 12 images" in refused("explain", "--query", "a fish", "--images")
    assert "2 to 12 images" in refused("explain", "--query", "a fish", "--images", images[0])
    assert "2 to 12 images" in refused("explain", "--query", "a fish", "--images", *(images * 5)[:13])


def test_files_that_are_no_pictures(images, tmp_path):
    text, cut, none = tmp_path / "notes.png", tmp_path / "cut.png", tmp_path / "gone.png"
    text.write_text("no picture")
    cut.write_bytes(Path(images[0]).read_bytes()[:300])
    large = png_header(tmp_path / "large.png", 10_000, 10_000)
    for path, says in ((text, "not a picture"), (cut, "cut short"), (none, "no file"), (large, "megapixels")):
        said = refused("explain", "--query", "a fish", "--images", images[0], path)
        assert path.name in said
        assert says in said


def test_queries_that_are_none(images):
    assert "empty" in refused("explain", "--query", "  ", "--images", *images)
    assert "10,000 characters" in refused("explain", "--query", "x" * 10_000, "--images", *images)
    assert "--query" in refused("explain", "--images", *images)


@pytest.mark.parametrize("order", ["1,1,2", "0,1,2", "1,2", "1,2,3,4", "a,b,c", ""])
def test_orders_that_are_no_permutation(images, order):
    assert "order" in refused("explain", "--query", "a fish", "--images", *images, "--order", order)


@pytest.mark.parametrize("target", [0, 4, -1, "two"])
def test_targets_out_of_range(images, target):
    assert "target" in refused("explain", "--query", "a fish", "--images", *images, f"--target={target}")


def test_a_saved_case_of_another_version(tmp_path):
    file = tmp_path / "case.json"
    save_case(SavedCase(open_dataset("scenes:random", n=2, cases=1)[0]), file)
    file.write_text(json.dumps(json.loads(file.read_text()) | {"version": 2}))
    assert "version 2" in refused("explain", "--case", file)
    assert "not both" in refused("explain", "--case", file, "--images", "a.png", "b.png")


def test_models_that_are_none(images, tmp_path, capsys):
    said = refused("explain", "--query", "a fish", "--images", *images, "--model", tmp_path)
    assert "no model folder" in said
    (tmp_path / "config.json").write_text("{}")
    for name in (str(tmp_path), "no-such-model"):
        assert main(["explain", "--query", "a fish", "--images", *images, "--model", name]) == 2
        said = capsys.readouterr().err
        assert said.startswith("error: ")
        assert said.count("\n") == 1
        assert name in said


@pytest.mark.parametrize("layers", ["5-3", "x", "-1", "1-", "7,8"])
def test_layers_that_are_no_range(layers):
    with pytest.raises(ValueError, match="--layers must be a range"):
        parse_layers(layers)
    assert list(parse_layers("4-5")) == [4, 5]
    assert list(parse_layers("5")) == [5]
    assert parse_layers("all") is None


def test_calibrations_that_do_not_fit(images, model, calibration, tmp_path, capsys):
    start = ["explain", "--query", "a fish", "--model", model]
    assert main([*start, "--images", *images[:2], "--calibration", calibration]) == 2
    assert "calibration is for 3 images" in capsys.readouterr().err
    assert main([*start, "--images", *images, "--calibration", calibration, "--identifiers", "letters"]) == 2
    assert "identifiers" in capsys.readouterr().err
    assert main([*start, "--images", *images, "--calibration", calibration, "--layers", "8-9"]) == 2
    assert "layers" in capsys.readouterr().err
    assert "calibration" in refused(
        "explain", "--query", "x", "--images", *images, "--calibration", tmp_path / "none.json"
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "COMMAND"),
        (("nonsense",), "nonsense"),
        (("evaluate", "--methods", "vanilla,magic"), "magic"),
        (("evaluate", "--data", "nowhere.json"), "nowhere.json"),
        (("evaluate", "--n", "1"), "n must be between"),
        (("evaluate", "--cases", "0"), "cases must be"),
        (("evaluate", "--seed", "-1"), "seed must"),
        (("evaluate", "--n", "many"), "--n"),
        (("deal", "--n", "13", "--out", "dealt"), "n must be between"),
        (("deal", "--n", "4"), "--out"),
        (("calibrate", "--n", "4", "--out", "no/such/folder/c.json"), "--out must be a file"),
        (("calibrate", "--n", "4", "--out", "."), "--out must be a file"),
    ],
)
def test_flags_that_make_no_sense(arguments, says, tmp_path):
    assert says in refused(*arguments, folder=tmp_path)


def test_deal_into_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    assert "file" in refused("deal", "--n", "2", "--cases", "1", "--out", tmp_path / "file")


# ---- output ----


def test_json_has_no_number_that_is_not_finite():
    value = {"a": np.array([1.0, -np.inf]), "b": (np.float64("nan"), np.int64(3)), "c": [None, "π"]}
    assert json.loads(lay_out(plain(value))) == {"a": [1.0, None], "b": [None, 3], "c": [None, "π"]}
    nested = {"rows": [[1, 2], [3, 4]], "list": [{"a": []}], "empty": {}}
    assert json.loads(lay_out(nested)) == nested


def test_a_table_has_straight_columns():
    lines = table(["name", "n"], [["a", 5], ["longer", 10]]).splitlines()
    assert lines == ["name     n", "a        5", "longer  10"]
