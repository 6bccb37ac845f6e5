"""Data set x methods x random orders -> accuracy, RStd, consistency; resumable, and the same for one seed."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from math import factorial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lad_core.calibration import Calibration, calibrate
from lad_core.case import Case
from lad_core.datasets import Dataset, cases_to_calibrate_on
from lad_core.debias import Settings, debias
from lad_core.methods import METHODS, Order
from lad_core.metrics import confusion, divergence_rate, summarize
from lad_core.observation import Observation

if TYPE_CHECKING:
    from lad_core.models.base import VisionLanguageModel

DEFAULT_METHODS = ("vanilla", "attention", "purified", "pride", "debiased")

#: ``progress(what, done, total)``
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Result:
    """What one method reached.

    Attributes:
        accuracy, accuracy_std, rstd, consistency: in percent, see :class:`lad_core.metrics.Summary`.
        confusion: (N, N) counts; row = target seat, column = answered seat.
        forward_passes: of the model, for one answer.
        seconds: for one answer, on average: its forward passes and the method's own work.
    """

    method: str
    accuracy: float
    accuracy_std: float
    rstd: float
    consistency: float
    confusion: np.ndarray
    forward_passes: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What was evaluated, and what came out.

    Attributes:
        calibration: in words, what the correction was calibrated on; None if no method needed any.
        divergence: percent of the answers where the argmax of π is right and the raw one wrong; None
            without a calibration.
    """

    model: str
    data: str
    n: int
    cases: int
    orders: int
    seed: int
    identifiers: str
    calibration: str | None
    divergence: float | None
    results: tuple[Result, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def check_methods(names: Sequence[str]) -> tuple[str, ...]:
    """The names as given, without surrounding blanks and repetitions.

    Raises:
        ValueError: no name, or one that is no method's.
    """
    chosen = tuple(dict.fromkeys(name.strip() for name in names))
    unknown = [name for name in chosen if name not in METHODS]
    if unknown or not chosen:
        raise ValueError(
            f"methods must be some of {', '.join(METHODS)}, not {', '.join(unknown) or 'none'!r}."
        )
    return chosen


@dataclass(frozen=True, eq=False)
class Protocol:
    """How the cases are answered; ``calibrated_on`` says in words what ``calibration`` was made from."""

    methods: tuple[str, ...]
    orders: int
    seed: int
    identifiers: str
    settings: Settings
    calibration: Calibration | None = None
    calibrated_on: str | None = None


def evaluate(
    model: VisionLanguageModel,
    data: Dataset,
    *,
    methods: Sequence[str] = DEFAULT_METHODS,
    orders: int = 5,
    seed: int = 7,
    identifiers: str = "numbers",
    settings: Settings | None = None,
    calibration: Calibration | None = None,
    resume: str | Path | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Let each method answer each case in ``orders`` random orders.

    Args:
        settings: of the correction; the model's own if not given.
        calibration: the one to use; else the model's own, else one that is made on five other cases.
        resume: a file of JSON lines that keeps each case's answers; a run that was stopped goes on from it.

    Raises:
        ValueError: names the argument; also where ``resume`` holds another evaluation.
    """
    if orders < 1:
        raise ValueError(f"orders must be at least 1, not {orders}.")
    if seed < 0:
        raise ValueError(f"seed must not be negative, but is {seed}.")
    progress = progress or (lambda what, done, total: None)
    protocol = Protocol(check_methods(methods), orders, seed, identifiers, settings or model.settings)
    protocol = _calibrated(protocol, model, data, calibration, progress)
    log = _Log(Path(resume), _key(protocol, model, data)) if resume else None
    answers = log.read() if log else []
    for index in range(len(answers), len(data)):
        progress("cases", index, len(data))
        answers.append(_answer(protocol, model, data[index], index))
        if log:
            log.append(answers[-1])
    progress("cases", len(data), len(data))
    return Evaluation(
        model.name,
        data.name,
        data.n,
        len(data),
        orders,
        seed,
        identifiers,
        protocol.calibrated_on,
        _divergence(answers),
        tuple(_result(name, data.n, answers) for name in protocol.methods),
    )


def distinct_orders(n: int, count: int, rng: np.random.Generator) -> list[Order]:
    """``count`` random orders of ``n`` images, all different as far as there are as many."""
    found: list[Order] = []
    while len(found) < count:
        order = tuple(rng.permutation(n).tolist())
        if order not in found or len(found) >= factorial(n):
            found.append(order)
    return found


def _calibrated(
    protocol: Protocol,
    model: VisionLanguageModel,
    data: Dataset,
    given: Calibration | None,
    progress: Progress,
) -> Protocol:
    """With the calibration that is given, or the model's own, or a new one if a method needs it."""
    calibration = given or model.calibration(data.n, protocol.identifiers)
    ranked = protocol.settings.variant == "ranked"
    if calibration is None and not (ranked or any(METHODS[name].calibrated for name in protocol.methods)):
        return protocol
    if calibration is not None:
        checksum = zlib.crc32(calibration.log_probs.tobytes() + calibration.attention.tobytes())
        source = f"{'as given' if given else 'shipped with the model'} ({checksum:08x})"
    else:
        cases, source = cases_to_calibrate_on(data, seed=protocol.seed)
        calibration = calibrate(
            model,
            cases,
            identifiers=protocol.identifiers,
            progress=lambda done, total: progress("calibration", done, total),
        )
    calibration = calibration.with_variant(protocol.settings.variant)
    return replace(protocol, calibration=calibration, calibrated_on=source)


def _answer(protocol: Protocol, model: VisionLanguageModel, case: Case, index: int) -> dict[str, Any]:
    """One case in all its orders, as a line of the log. Seats and images are counted from 0.

    Whatever orders the methods want to see are observed together, each once, and shared by all methods.
    """
    if case.target is None:
        raise ValueError(
            f"Case {index + 1} of the data has no target, so that answers to it can't be counted."
        )
    rng = np.random.default_rng([protocol.seed, index])
    seated = [case.with_order(order) for order in distinct_orders(case.n, protocol.orders, rng)]
    draws = rng.integers(2**31, size=protocol.orders).tolist()
    wanted = {name: [METHODS[name].orders(case.n, draw) for draw in draws] for name in protocol.methods}
    views = {one.order: one for one in seated}
    for asked in wanted.values():
        turned = (
            one.rearranged(order) for one, orders in zip(seated, asked, strict=True) for order in orders
        )
        views |= {one.order: one for one in turned}
    began = time.perf_counter()
    found = model.observe_many(list(views.values()), identifiers=protocol.identifiers)
    seconds_per_pass = (time.perf_counter() - began) / len(views)
    observed = dict(zip(views, found, strict=True))

    seats, seconds = {}, {}
    for name, asked in wanted.items():
        began = time.perf_counter()
        seats[name] = [
            METHODS[name].decide(
                [observed[one.rearranged(order).order] for order in orders],
                orders,
                protocol.calibration,
                protocol.settings,
            )
            for one, orders in zip(seated, asked, strict=True)
        ]
        own = (time.perf_counter() - began) / protocol.orders
        seconds[name] = seconds_per_pass * len(asked[0]) + own
    return {
        "case": index,
        "id": case.id,
        "target": case.target,
        "orders": [list(one.order) for one in seated],
        "raw": [int(observed[one.order].log_probs.argmax()) for one in seated],
        "looked": _looked(protocol, [observed[one.order] for one in seated]),
        "seats": seats,
        "seconds": seconds,
        "passes": {name: len(asked[0]) for name, asked in wanted.items()},
    }


def _looked(protocol: Protocol, observations: list[Observation]) -> list[int] | None:
    """Where the posterior is largest, by seat."""
    if protocol.calibration is None:
        return None
    return [debias(o, protocol.calibration, protocol.settings).looked_at for o in observations]


def _key(protocol: Protocol, model: VisionLanguageModel, data: Dataset) -> dict[str, Any]:
    """What two runs must share for one to go on from the other."""
    return {
        "model": model.name,
        "revision": model.revision,
        "data": data.name,
        "n": data.n,
        "cases": len(data),
        "orders": protocol.orders,
        "seed": protocol.seed,
        "identifiers": protocol.identifiers,
        "methods": protocol.methods,
        "settings": asdict(protocol.settings),
        "calibration": protocol.calibrated_on,
    }


def _target_seats(answers: list[dict]) -> np.ndarray:
    """(S, T) seats of the targets."""
    return np.array([[order.index(a["target"]) for order in a["orders"]] for a in answers])


def _result(name: str, n: int, answers: list[dict]) -> Result:
    target = _target_seats(answers)  # (S, T)
    seats = np.array([a["seats"][name] for a in answers])  # (S, T)
    items = np.take_along_axis(np.array([a["orders"] for a in answers]), seats[..., None], axis=2)[..., 0]
    summary = summarize(seats, target, items, n)
    return Result(
        name,
        summary.accuracy,
        summary.accuracy_std,
        summary.rstd,
        summary.consistency,
        confusion(seats, target, n),
        answers[0]["passes"][name],
        float(np.mean([a["seconds"][name] for a in answers])),
    )


def _divergence(answers: list[dict]) -> float | None:
    if answers[0]["looked"] is None:
        return None
    looked, raw = (np.array([a[what] for a in answers]) for what in ("looked", "raw"))
    return divergence_rate(looked, raw, _target_seats(answers))


class _Log:
    """JSON lines: what is evaluated, then one line per case. A last line that was cut short is dropped."""

    def __init__(self, path: Path, key: dict[str, Any]):
        self.path, self.key = path, json.loads(json.dumps(key))

    def read(self) -> list[dict]:
        """The lines of an earlier run of the same evaluation; begins the file where there is none."""
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if not text:
            self.append(self.key)
            return []
        try:
            key, *answers = map(json.loads, whole.splitlines())
        except ValueError as error:
            raise ValueError(f"{self.path} is no record of an evaluation; choose another file.") from error
        if not isinstance(key, dict) or set(key) != set(self.key):
            raise ValueError(f"{self.path} is no record of an evaluation; choose another file.")
        for name, value in self.key.items():
            if key[name] != value:
                raise ValueError(
                    f"{self.path} records another evaluation: {name} is {key[name]} there and {value} here; "
                    "choose another file."
                )
        if whole != text:
            self.path.write_text(whole, encoding="utf-8")
        return answers

    def append(self, line: dict) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
