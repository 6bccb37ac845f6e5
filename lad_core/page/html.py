"""Session and result -> HTML: the verdict, the row of seats, the two cards, the past runs. Pure functions.

A ``result`` is a :class:`Debiased`, a bare :class:`Observation` where there is no calibration to correct it with, or
None where the model has not been asked yet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

import numpy as np
from PIL import Image

from lad_core.debias import Debiased
from lad_core.observation import Observation
from lad_core.page.state import Run, Session, data_uri
from lad_core.prompts import identifiers
from lad_core.verdict import raw_verdict
from lad_core.verdict import verdict as spoken_verdict

Result = Debiased | Observation | None

_SPOKEN = {"looks": "Looks at image", "raw": "[Ss]ays", "debiased": "Debiased:", "target": "Right answer:"}
HEAT_SIDE = 96  # pixels of a heatmap before the browser stretches it over its picture
SHADE = (13, 17, 28)  # what is not looked at goes dark


@dataclass(frozen=True)
class View:
    """A session with its result, by the names that people read."""

    session: Session
    result: Result = None

    @property
    def debiased(self) -> Debiased | None:
        return self.result if isinstance(self.result, Debiased) else None

    @property
    def observation(self) -> Observation | None:
        return self.debiased.observation if self.debiased else self.result

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Seat -> its identifier."""
        return identifiers(self.session.case.n, self.session.identifiers)

    @cached_property
    def said(self) -> np.ndarray:  # (N,)
        return np.exp(self.observation.log_probs)

    @cached_property
    def looked(self) -> np.ndarray:  # (N,)
        """π, or without a calibration each seat's share of the raw attention over all layers."""
        if self.debiased:
            return self.debiased.posterior
        raw = self.observation.attention.mean(0)
        return raw / max(raw.sum(), np.finfo(float).tiny)

    @property
    def raw_seat(self) -> int:
        return int(np.argmax(self.observation.log_probs))

    @property
    def looked_seat(self) -> int:
        return int(np.argmax(self.looked))

    @property
    def debiased_seat(self) -> int | None:
        return self.debiased.prediction if self.debiased else None

    @property
    def target_seat(self) -> int | None:
        return self.session.case.target_seat


def verdict(view: View) -> str:
    """The whole finding in one sentence, with what it amounts to above it."""
    if view.result is None:
        return _verdict("Not run yet", "Press <b>Run</b> to ask the model about these pictures.", "open")
    if view.debiased is None:
        headline = "Raw answer only: no calibration ships for this model with these seats"
        return _verdict(headline, _with_pills(raw_verdict(view.observation, view.session.case)), "open")
    headline, tone = finding(view)
    return _verdict(headline, _with_pills(spoken_verdict(view.debiased, view.session.case)), tone)


def _with_pills(sentence: str) -> str:
    """Each seat that the sentence names, on the colour of what it is."""
    for kind, before in _SPOKEN.items():
        sentence = re.sub(rf"({before} )(\w+)", rf"\1<span class='pill {kind}'>\2</span>", sentence)
    return sentence


def finding(view: View) -> tuple[str, str]:
    """What a debiased result amounts to, and its tone: good, bad, mixed or open."""
    target, raw, looked, debiased = view.target_seat, view.raw_seat, view.looked_seat, view.debiased_seat
    if target is None:
        if raw == debiased:
            return "Raw and debiased agree; which image is right is left open", "open"
        return "Raw and debiased differ; which image is right is left open", "open"
    if raw == target and debiased == target:
        return "Says it right, with and without the correction", "good"
    if raw == target:
        return "Says it right; the correction spoils it", "bad"
    if debiased == target and looked == target:
        return "Looks right, says wrong, put right", "mixed"
    if debiased == target:
        return "Looks wrong, says wrong; what is left after the correction is right", "mixed"
    if looked == target:
        return "Looks right, says wrong, and stays wrong", "bad"
    return "Looks wrong and says wrong: attention itself is fooled", "bad"


def seats(view: View, heat: Sequence[np.ndarray] = (), strength: float = 0.0) -> str:
    """The numbered row of seats. ``heat``: one (h, w) map in 0..1 per seat, laid over the pictures."""
    cells = "".join(
        _seat(view, seat, heat[seat] if len(heat) else None, strength) for seat in range(view.session.case.n)
    )
    return f"<div class='seats' style='--n:{view.session.case.n}' role='group' aria-label='The pictures by seat'>{cells}</div>"


def _seat(view: View, seat: int, heat: np.ndarray | None, strength: float) -> str:
    case, name = view.session.case, view.names[seat]
    image = case.order[seat]
    selected = seat == view.session.selected
    flags, rows = [], ""
    if view.result is not None:
        values = [("says", "raw", view.said), ("looks", "looks", view.looked)]
        picks = {"raw": view.raw_seat, "looks": view.looked_seat}
        if view.debiased:
            values += [
                ("habit", "prior", _softmax(view.debiased.log_prior)),
                ("debiased", "debiased", np.exp(view.debiased.log_p_vis)),
            ]
            picks["debiased"] = view.debiased_seat
        flags = [(word, kind) for word, kind, _ in values if picks.get(kind) == seat]
        rows = "".join(_bar(word, kind, v[seat], strong=picks.get(kind) == seat) for word, kind, v in values)
    right = seat == view.target_seat
    said = ", ".join(
        ["right answer"] * right + [f"model {word}" if word != "debiased" else word for word, _ in flags]
    )
    label = f"Seat {name}, picture {image + 1}" + (f": {said}" if said else "")
    shade = ""
    if heat is not None and strength > 0:
        shade = f"<img class='heat' alt='' src='{shade_uri(heat)}' style='opacity:{strength:.2f}'>"
    flags_html = "".join(f"<span class='flag {kind}'>{word}</span>" for word, kind in flags)
    return f"""<div class='seat{" selected" if selected else ""}'>
<div class='flags'>{flags_html}</div>
<button type='button' class='picture{" right" if right else ""}' data-seat='{seat}' draggable='true' aria-pressed='{str(selected).lower()}' aria-label='{label}'>
<span class='frame'><img alt='picture {image + 1}' src='{view.session.thumbnails[image]}' draggable='false'>{shade}</span></button>
<div class='right-line'>{"<span class='flag target'>✓ right</span>" if right else ""}</div>
<div class='seat-name'><b>{name}</b><span>picture {image + 1}</span></div>
<div class='bars'>{rows}</div>
</div>"""


def card(view: View, kind: str) -> str:
    """Kind "raw" or "debiased": the picked picture, large, and the N probabilities."""
    title, what = {
        "raw": ("Raw prediction", "what the model says: P<sub>obs</sub>"),
        "debiased": ("Debiased prediction", "its habit taken out: P<sub>vis</sub>"),
    }[kind]
    head = f"<div class='card-head'><h3>{title}</h3><span>{what}</span></div>"
    seat = None
    if view.result is not None:
        seat = view.raw_seat if kind == "raw" else view.debiased_seat
    if seat is None:
        why = (
            "Press Run."
            if view.result is None
            else "Nothing to correct with: no calibration ships for this setting."
        )
        return f"<div class='card {kind}'>{head}<p class='empty'>{why}</p></div>"
    probabilities = view.said if kind == "raw" else np.exp(view.debiased.log_p_vis)
    image = view.session.case.order[seat]
    rows = "".join(
        _bar(view.names[s], kind, p, strong=s == seat, mark=s == view.target_seat)
        for s, p in enumerate(probabilities)
    )
    return f"""<div class='card {kind}'>{head}
<div class='card-body'><figure><img alt='picture {image + 1}' src='{view.session.thumbnails[image]}'>
<figcaption>seat <b>{view.names[seat]}</b>, picture {image + 1} {_judged(seat, view.target_seat)}</figcaption></figure>
<div class='bars wide'>{rows}</div></div></div>"""


def history(session: Session, results: Sequence[tuple[Run, Result]]) -> str:
    """Past runs of this case, the latest first: order -> raw answer, debiased answer."""
    head = "<div class='card-head'><h3>Runs of this case</h3><span>same pictures, other seats</span></div>"
    if not results:
        return f"<div class='card history'>{head}<p class='empty'>No runs yet.</p></div>"
    views = [View(_seated(session, run), result) for run, result in results]
    rows = "".join(_history_row(view, i) for i, view in reversed(list(enumerate(views, start=1))))
    return f"""<div class='card history'>{head}<p class='tally'>{_tally(views)}</p>
<div class='scroll' tabindex='0' role='region' aria-label='Runs of this case'><table>
<thead><tr><th>run</th><th>pictures in seats {views[0].names[0]}–{views[0].names[-1]}</th><th>raw</th><th>debiased</th></tr></thead>
<tbody>{rows}</tbody></table></div></div>"""


def _seated(session: Session, run: Run) -> Session:
    return Session(run.case, session.model, session.identifiers, (), None, session.thumbnails)


def _history_row(view: View, number: int) -> str:
    order = " ".join(str(image + 1) for image in view.session.case.order)
    cells = "".join(
        _answer(view, seat, kind) for kind, seat in (("raw", view.raw_seat), ("debiased", view.debiased_seat))
    )
    return f"<tr><td>{number}</td><td class='order'>{order}</td>{cells}</tr>"


def _answer(view: View, seat: int | None, kind: str) -> str:
    if seat is None:
        return "<td>–</td>"
    image = view.session.case.order[seat]
    return (
        f"<td><span class='answer {kind}'><img alt='' src='{view.session.thumbnails[image]}'>"
        f"<span>{'says' if kind == 'raw' else 'seat'} {view.names[seat]}<br><b>picture {image + 1}</b>"
        f"<br>{_judged(seat, view.target_seat)}</span></span></td>"
    )


def _tally(views: Sequence[View]) -> str:
    """How many different pictures each answer has picked over the runs."""

    def picked(seats: Sequence[int | None]) -> str:
        images = {v.session.case.order[s] for v, s in zip(views, seats, strict=True) if s is not None}
        if not images:
            return "none"
        return (
            f"always picture {images.pop() + 1}" if len(images) == 1 else f"{len(images)} different pictures"
        )

    runs = "1 run" if len(views) == 1 else f"{len(views)} runs"
    if len(views) == 1:
        return "Shuffle the seats to see which answer stays with its picture."
    raw, debiased = picked([v.raw_seat for v in views]), picked([v.debiased_seat for v in views])
    return f"In {runs}: raw <b class='word raw'>{raw}</b>, debiased <b class='word debiased'>{debiased}</b>."


def notice(text: str, tone: str = "warning") -> str:
    """A line of the message area: a warning, an "info" or a quiet "status"; nothing if there is no text."""
    role = "status" if tone == "status" else "alert"
    return f"<p class='notice {tone}' role='{role}'>{escape(text)}</p>" if text else ""


def status(view: View) -> str:
    """The message area when there is nothing to warn of: what the last run took."""
    if view.observation is None:
        return notice(f"{view.session.model} has not been asked about this order yet.", "status")
    seconds = sum(view.observation.seconds.values())
    n, passes = view.session.case.n, view.observation.forward_passes
    times = "one pass" if passes == 1 else f"{passes} passes"
    return notice(f"{view.session.model} looked at {n} pictures in {times}, {seconds:.2f} s.", "status")


def shade_uri(heat: np.ndarray) -> str:
    """An (h, w) map in 0..1 as a dark, transparent picture: bright where the model looks."""
    levels = Image.fromarray((255 * np.clip(heat, 0, 1)).astype(np.uint8))
    smooth = np.asarray(levels.resize((HEAT_SIDE, HEAT_SIDE), Image.Resampling.BICUBIC), dtype=float) / 255
    pixels = np.empty((HEAT_SIDE, HEAT_SIDE, 4), dtype=np.uint8)
    pixels[..., :3] = SHADE
    pixels[..., 3] = 255 * (1 - smooth)
    return data_uri(Image.fromarray(pixels), quality=60, method=0)


def _verdict(headline: str, sentence: str, tone: str) -> str:
    return f"<div class='verdict {tone}' aria-live='polite'><p class='headline'>{headline}</p><p class='sentence'>{sentence}</p></div>"


def _bar(word: str, kind: str, value: float, strong: bool, mark: bool = False) -> str:
    width = 100 * min(max(float(value), 0.0), 1.0)
    return (
        f"<div class='bar {kind}{' strong' if strong else ''}'><span class='word'>{word}{' ✓' if mark else ''}</span>"
        f"<span class='track'><i style='width:{width:.1f}%'></i></span><span class='value'>{_number(value)}</span></div>"
    )


def _judged(seat: int, target: int | None) -> str:
    if target is None:
        return ""
    return (
        "<span class='judged right'>✓ right</span>"
        if seat == target
        else "<span class='judged wrong'>✗ wrong</span>"
    )


def _number(value: float) -> str:
    return f"{float(value):.2f}"


def _softmax(values: np.ndarray) -> np.ndarray:
    weights = np.exp(values - values.max())
    return weights / weights.sum()
