"""The models behind the page: loaded once, shared by all visitors, only ever read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from lad_core.calibration import Calibration

EMBEDDED = ("scene-vlm", "scene-vlm-fair")


class Models:
    """Loads each model when it is first asked for, and keeps its calibrations by setting and variant."""

    def __init__(self, names: Sequence[str], load: Callable[[str], Any]):
        self.names = tuple(names)
        self._load = lru_cache(maxsize=None)(load)
        self._loading = threading.Lock()
        self._calibration = lru_cache(maxsize=128)(self._read_calibration)

    def get(self, name: str) -> Any:
        """The model of that name.

        Raises:
            ValueError: it is none of ``names``, or can't be loaded.
        """
        if name not in self.names:
            raise ValueError(
                f"There is no model {name!r} on this page: choose one of {', '.join(self.names)}."
            )
        with self._loading:
            return self._load(name)

    def calibration(self, name: str, n: int, identifiers: str, variant: str) -> Calibration | None:
        """What ships with the model for ``n`` seats so named, in this variant; None if nothing does."""
        return self._calibration(name, n, identifiers, variant)

    def _read_calibration(self, name: str, n: int, identifiers: str, variant: str) -> Calibration | None:
        shipped = self.get(name).calibration(n, identifiers)
        return None if shipped is None else shipped.with_variant(variant)
