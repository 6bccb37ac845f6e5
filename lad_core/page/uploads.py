"""What a visitor uploads -> a case: pictures, or a saved case with its pictures."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lad_core.case import MAX_IMAGES, MIN_IMAGES, Case
from lad_core.images import open_image
from lad_core.saved_cases import SavedCase, load_case


def read_upload(paths: Sequence[str], query: str, identifiers: str) -> SavedCase:
    """Pictures make a new case; with a ``.json`` among them, they are the saved case that it names.

    Raises:
        ValueError: too few or too many pictures, a file that is none, or a saved case that can't be read.
    """
    saved = [path for path in paths if path.endswith(".json")]
    if saved:
        return _read_saved(saved[0], paths)
    if not MIN_IMAGES <= len(paths) <= MAX_IMAGES:
        are = {0: "are none", 1: "is one"}.get(len(paths), f"are {len(paths)}")
        raise ValueError(
            f"A case has {MIN_IMAGES} to {MAX_IMAGES} pictures, and here {are}: add or remove some; the last "
            "case stays until then."
        )
    return SavedCase(Case(query=query, images=tuple(map(open_image, paths))), identifiers=identifiers)


def _read_saved(saved: str, paths: Sequence[str]) -> SavedCase:
    """Uploaded files arrive in a folder each, and a saved case looks for its pictures beside it."""
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            shutil.copy(path, folder)
        try:
            return load_case(Path(folder) / Path(saved).name)
        except ValueError as error:
            raise ValueError(str(error).replace(f"{folder}/", "")) from error
