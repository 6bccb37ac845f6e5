"""What the page costs at N = 8, server side, by hand: ``python tests/benchmarks/page.py``

Run: the embedded model on a new order, and everything that is shown of it. Redraw: what a slider does, with seven
runs listed. Milliseconds, median of twenty.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lad_core.models import load_model  # noqa: E402
from lad_core.page import analysis  # noqa: E402
from lad_core.page.analysis import Knobs  # noqa: E402
from lad_core.page.explore import open_saved  # noqa: E402
from lad_core.page.models import EMBEDDED, Models  # noqa: E402


def milliseconds(call: Callable[[int], object], times: int = 20) -> float:
    spent = []
    for turn in range(times + 1):
        began = time.perf_counter()
        call(turn)
        spent.append(1e3 * (time.perf_counter() - began))
    return median(spent[1:])


if __name__ == "__main__":
    models = Models(EMBEDDED, load_model)
    model = models.get("scene-vlm")
    session, _ = open_saved(ROOT / "examples", "1-looks-right-says-wrong", "scene-vlm")
    knobs = Knobs.of(model.settings, model.n_layers)

    def asked(seed: int):
        shuffled = session.with_order(session.case.shuffled(seed).order)
        return shuffled.observed(model.observe(shuffled.case, identifiers=shuffled.identifiers))

    listed = session
    for seed in range(7):
        listed = listed.with_order(session.case.shuffled(seed).order)
        listed = listed.observed(model.observe(listed.case))
    run = milliseconds(lambda turn: analysis.screen(models, asked(turn), knobs))
    redraw = milliseconds(
        lambda turn: analysis.screen(models, listed, replace(knobs, temperature=1.0 + turn / 4))
    )
    print(f"run {run:.0f} ms, redraw {redraw:.0f} ms, seen {len(listed.runs)} runs, N = {session.case.n}")
