"""Where cases come from: dealt scenes, the released code's annotation files, folders of saved cases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, overload

from lad_core.case import MAX_IMAGES, MIN_IMAGES, Case
from lad_core.images import open_image
from lad_core.saved_cases import FORMAT, list_examples, load_case, read_json
from lad_core.scenes.deal import SETTINGS, calibration_cases, deal

ANNOTATIONS = "annotations.json"
SCENES = "scenes:"
#: Endings that are tried for an image that is named without one.
ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".PNG", ".JPG", ".JPEG")

Loader = Callable[[], Case]


@dataclass(frozen=True)
class Dataset(Sequence[Case]):
    """Cases of one N, each loaded when it is asked for and not kept.

    Attributes:
        name: where they come from, as the user gave it.
        n: images in each case.
        loaders: one function per case.
        rest: the same for the cases of this source that were not asked for: free to calibrate on.
    """

    name: str
    n: int
    loaders: tuple[Loader, ...]
    rest: tuple[Loader, ...] = ()

    def __len__(self) -> int:
        return len(self.loaders)

    @overload
    def __getitem__(self, index: int) -> Case: ...
    @overload
    def __getitem__(self, index: slice) -> list[Case]: ...
    def __getitem__(self, index):
        if isinstance(index, slice):
            return [load() for load in self.loaders[index]]
        return self.loaders[index]()


def open_dataset(
    source: str | Path,
    *,
    n: int | None = None,
    cases: int | None = None,
    seed: int = 0,
    image_root: str | Path | None = None,
) -> Dataset:
    """Open a data set by name.

    Args:
        source: ``scenes:random``, ``scenes:adversarial``, an annotation file of the released code, a folder
            that holds one as ``annotations.json``, or a folder of saved cases.
        n: images in each case; longer cases are cut to it, the target kept. Default: 8 for scenes, else as in
            the data.
        cases: how many to take, from the first; 200 for scenes, else all.
        seed: which scenes are dealt; no meaning for the others.
        image_root: folder of an annotation file's images, if they don't lie beside it.

    Raises:
        ValueError: no such data set, an entry that is malformed (named, counted from 1), or cases of
            different N where ``n`` is not given.
    """
    if n is not None and not MIN_IMAGES <= n <= MAX_IMAGES:
        raise ValueError(f"n must be between {MIN_IMAGES} and {MAX_IMAGES}, not {n}.")
    if cases is not None and cases < 1:
        raise ValueError(f"cases must be at least 1, not {cases}.")
    name = str(source)
    if name.startswith(SCENES):
        return _scenes(name, 8 if n is None else n, 200 if cases is None else cases, seed)
    path = Path(source)
    if path.is_dir() and not (path / ANNOTATIONS).is_file():
        return _saved(name, list_examples(path), n, cases)
    if not path.exists():
        raise ValueError(
            f"There is no data set {name!r}: give {SCENES}random, {SCENES}adversarial, an annotation file, "
            "or a folder with one or with saved cases."
        )
    file = path / ANNOTATIONS if path.is_dir() else path
    content = read_json(file)
    if isinstance(content, dict) and content.get("format") == FORMAT:
        return _saved(name, [file], n, cases)
    return _annotated(name, file, content, n, cases, Path(image_root) if image_root else file.parent)


def cases_to_calibrate_on(data: Dataset, count: int = 5, seed: int = 0) -> tuple[list[Case], str]:
    """``count`` labelled cases that are not among the data set's own, and a few words on where they are from.

    Entries of the same annotation file that were not asked for, if there are enough; else dealt scenes, from
    a stream of random numbers of their own.
    """
    if len(data.rest) >= count:
        cases = [load() for load in data.rest[:count]]
        return cases, f"{count} other cases of {data.name}"
    setting = data.name.removeprefix(SCENES) if data.name.startswith(SCENES) else "random"
    cases = calibration_cases(data.n, count, seed, setting)
    return cases, f"{count} dealt calibration scenes ({setting}, seed {seed})"


def write_annotations(cases: Iterable[Case], folder: str | Path) -> Path:
    """Write pictures (PNG) and the released code's ``annotations.json`` to ``folder``; returns the file.

    Raises:
        ValueError: a case whose target is left open.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for number, case in enumerate(cases):
        if case.target is None:
            raise ValueError(f"Case {number + 1} has no target, which an annotation file needs.")
        names = [f"{number + 1:04d}-{image + 1}.png" for image in range(case.n)]
        for name, image in zip(names, case.images, strict=True):
            image.save(folder / name, optimize=True)
        entries.append(
            {
                "id": case.id or str(number),
                "image_ids": names,
                "index": case.target,
                "target": names[case.target],
                "caption": case.query,
            }
        )
    file = folder / ANNOTATIONS
    file.write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return file


def _scenes(name: str, n: int, cases: int, seed: int) -> Dataset:
    setting = name.removeprefix(SCENES)
    if setting not in SETTINGS:
        raise ValueError(
            f"There are no scenes {setting!r}: choose {' or '.join(SCENES + s for s in SETTINGS)}."
        )
    if seed < 0:
        raise ValueError(f"seed must not be negative, but is {seed}.")
    return Dataset(name, n, tuple(partial(deal, n, setting, seed * 10_000 + i) for i in range(cases)))


def _saved(name: str, files: Sequence[Path], n: int | None, cases: int | None) -> Dataset:
    if not files:
        raise ValueError(f"{name} holds neither {ANNOTATIONS} nor saved cases.")
    loaded = [load_case(file).case for file in files]
    for file, case in zip(files, loaded, strict=True):
        if case.target is None:
            raise ValueError(f"{file} leaves open which image is right, so that it can't be counted.")
    n = _common_n(name, [case.n for case in loaded], n)
    short = next((file for file, case in zip(files, loaded, strict=True) if case.n < n), None)
    if short is not None:
        raise ValueError(f"{short} has fewer than {n} images.")
    loaders = tuple(partial(_cut_saved, file, n) for file in files)
    return Dataset(name, n, loaders[:cases])


def _cut_saved(file: Path, n: int) -> Case:
    case = load_case(file).case
    kept = kept_images(case.n, case.target, n)
    if len(kept) == case.n:
        return case
    return Case(case.query, tuple(case.images[i] for i in kept), target=kept.index(case.target), id=case.id)


def kept_images(length: int, target: int, n: int) -> tuple[int, ...]:
    """Which of ``length`` images stay when a case is cut to ``n``: the first ones, the target among them.

    The target keeps its place if it is among the first ``n``, and else takes the last one.
    """
    first = tuple(range(min(n, length)))
    return first if target < n else (*first[:-1], target)


def _annotated(name: str, file: Path, content: Any, n: int | None, cases: int | None, root: Path) -> Dataset:
    if not isinstance(content, list) or not content:
        raise ValueError(f"{file} is no annotation file: it must hold a list of cases.")
    if not root.is_dir():
        raise ValueError(f"There is no folder of images {root}.")
    for number, entry in enumerate(content, start=1):
        fault = _fault(entry)
        if fault:
            raise ValueError(f"{file}, entry {number}: {fault}.")
    n = _common_n(name, [len(entry["image_ids"]) for entry in content[:cases]], n)
    loaders = []
    for number, entry in enumerate(content, start=1):
        loaders.append(partial(_load, f"{file}, entry {number}", {"id": number, **entry}, n, root))
        if cases is None or number <= cases:
            _image_paths(f"{file}, entry {number}", entry, n, root)  # better now than hours into a run
    end = len(loaders) if cases is None else cases
    return Dataset(name, n, tuple(loaders[:end]), tuple(loaders[end:]))


def _fault(entry: Any) -> str | None:
    """What is wrong with the shape of an annotation entry, if anything is."""
    if not isinstance(entry, dict):
        return "it is not an object"
    missing = [key for key in ("image_ids", "index", "caption") if key not in entry]
    if missing:
        return f'it has no "{missing[0]}"'
    names, index = entry["image_ids"], entry["index"]
    if not isinstance(names, list) or not all(isinstance(name, str | int) and str(name) for name in names):
        return '"image_ids" must be a list of file names'
    if len(names) < MIN_IMAGES:
        return f"it has {len(names)} images, fewer than {MIN_IMAGES}"
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(names):
        return f'"index" must be a whole number from 0 to {len(names) - 1}, not {index!r}'
    if not isinstance(entry["caption"], str) or not entry["caption"].strip():
        return '"caption" must be a text that is not empty'
    target = entry.get("target")
    if target is not None and Path(str(target)).stem != Path(str(names[index])).stem:
        return f'"target" is {target!r}, but "index" {index} is the image {names[index]!r}'
    return None


def _find_image(root: Path, name: str) -> Path | None:
    """An image by its name, or by the last part of it, below ``root``; each with any usual ending."""
    for base in dict.fromkeys((root / name, root / Path(name).name)):
        for path in (base, *(base.with_name(base.name + ending) for ending in ENDINGS)):
            if path.is_file():
                return path
    return None


def _image_paths(where: str, entry: dict, n: int, root: Path) -> list[Path]:
    """The files of the images that stay when an entry is cut to ``n``."""
    names = [str(name) for name in entry["image_ids"]]
    if len(names) < n:
        raise ValueError(f"{where}: it has {len(names)} images, fewer than {n}.")
    kept = [names[i] for i in kept_images(len(names), entry["index"], n)]
    paths = [_find_image(root, name) for name in kept]
    if None in paths:
        raise ValueError(f"{where}: there is no image {kept[paths.index(None)]!r} in {root}.")
    return paths


def _load(where: str, entry: dict, n: int, root: Path) -> Case:
    try:
        images = tuple(open_image(path) for path in _image_paths(where, entry, n, root))
        target = kept_images(len(entry["image_ids"]), entry["index"], n).index(entry["index"])
        return Case(entry["caption"], images, target=target, id=str(entry["id"]))
    except ValueError as error:
        message = str(error)
        raise ValueError(message if message.startswith(where) else f"{where}: {message}") from error


def _common_n(name: str, found: Sequence[int], n: int | None) -> int:
    """``n`` if given, else the one N that all cases have."""
    if n is not None:
        return n
    if len(set(found)) > 1:
        raise ValueError(
            f"The cases of {name} have {min(found)} to {max(found)} images: say how many with n."
        )
    if found[0] > MAX_IMAGES:
        raise ValueError(f"The cases of {name} have {found[0]} images: choose n, at most {MAX_IMAGES}.")
    return found[0]
