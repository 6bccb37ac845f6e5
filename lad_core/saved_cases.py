"""Saved cases: one JSON file with its pictures beside it, as in ``examples/``.

The format, version 1 (people count from 1)::

    {
      "format": "lad-case",
      "version": 1,
      "title": "Looks right, says wrong",      a short name
      "note": "What there is to see.",          one or two sentences, may be empty
      "query": "a red fish left of a blue house",
      "images": ["fish-1.png", "fish-2.png"],   file names relative to this file, within its folder
      "order": [2, 1],                          the image in seat 1, in seat 2, ...
      "target": 1,                              the right image, or null where it is left open
      "identifiers": "numbers",                 how the seats are named to the model
      "model": "scene-vlm"                      the model it was found with
    }
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from lad_core.case import Case
from lad_core.images import open_image
from lad_core.prompts import IDENTIFIER_FORMATS

FORMAT = "lad-case"
VERSION = 1


@dataclass(frozen=True)
class SavedCase:
    """A case with what is said about it."""

    case: Case
    title: str = ""
    note: str = ""
    identifiers: str = "numbers"
    model: str = "scene-vlm"


def list_examples(folder: str | Path) -> list[Path]:
    """The case files of a folder, by name; an empty list where there is no such folder."""
    return sorted(Path(folder).glob("*.json"))


def save_case(saved: SavedCase, path: str | Path) -> None:
    """Write a case to ``path`` and its pictures, as PNG, to ``<stem>-1.png``, ``<stem>-2.png``, ... by it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    names = [f"{path.stem}-{i + 1}.png" for i in range(saved.case.n)]
    for name, image in zip(names, saved.case.images, strict=True):
        image.save(path.parent / name, optimize=True)
    target = saved.case.target
    written = {
        "format": FORMAT,
        "version": VERSION,
        "title": saved.title,
        "note": saved.note,
        "query": saved.case.query,
        "images": names,
        "order": [image + 1 for image in saved.case.order],
        "target": None if target is None else target + 1,
        "identifiers": saved.identifiers,
        "model": saved.model,
    }
    path.write_text(json.dumps(written, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def load_case(path: str | Path) -> SavedCase:
    """Read a case that was saved in this format; its ``id`` is the file's name without ending.

    Raises:
        ValueError: no such file, not this format or version, a picture that is missing, unreadable or outside
            the file's folder, or a case that is none.
    """
    path = Path(path)
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f'{path} is no saved case: its "format" is not "{FORMAT}".')
    if content.get("version") != VERSION:
        raise ValueError(
            f"{path} is a saved case of version {content.get('version')}; only version {VERSION} can be read."
        )
    images = _field(path, content, "images", list)
    order = _field(path, content, "order", list, default=list(range(1, len(images) + 1)))
    target = content.get("target")
    if not all(_is_int(image) for image in order) or not (target is None or _is_int(target)):
        raise ValueError(
            f'{path}: "order" must be a list of whole numbers from 1, and "target" one of them or null.'
        )
    pictures = tuple(open_image(_picture(path, name)) for name in images)
    try:
        case = Case(
            query=_field(path, content, "query", str),
            images=pictures,
            order=tuple(image - 1 for image in order),
            target=None if target is None else target - 1,
            id=path.stem,
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    identifiers = _field(path, content, "identifiers", str, default="numbers")
    if identifiers not in IDENTIFIER_FORMATS:
        raise ValueError(
            f'{path}: "identifiers" must be one of {", ".join(IDENTIFIER_FORMATS)}, not {identifiers!r}.'
        )
    return SavedCase(
        case,
        title=_field(path, content, "title", str, default=path.stem),
        note=_field(path, content, "note", str, default=""),
        identifiers=identifiers,
        model=_field(path, content, "model", str, default="scene-vlm"),
    )


def read_json(path: Path) -> Any:
    """The content of a JSON file; ``ValueError`` where there is no such file or it holds something else."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ValueError(f"There is no file {path}.") from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not a JSON file.") from error


def _field(path: Path, content: dict, key: str, kind: type, default: Any = None) -> Any:
    value = content.get(key, default)
    if not isinstance(value, kind):
        raise ValueError(f'{path}: "{key}" must be a {"text" if kind is str else "list"}.')
    return value


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _picture(path: Path, name: Any) -> Path:
    """The path of one picture. A case file names only what lies within its own folder."""
    if not isinstance(name, str) or not name:
        raise ValueError(f'{path}: "images" must be a list of file names.')
    if PurePath(name).is_absolute() or ".." in PurePath(name).parts:
        raise ValueError(f"{path}: the picture {name!r} must lie in the folder of the case file.")
    picture = path.parent / name
    if not picture.is_file():
        raise ValueError(f"{path}: its picture {name!r} is missing.")
    return picture
