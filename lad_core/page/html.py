"""View -> HTML: the verdict, the row of seats, the cards, the past runs, the message line. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import numpy as np
from PIL import Image

from lad_core.page.state import Session, data_uri
from lad_core.page.view import Measure, View, finding
from lad_core.page.words import VARIANTS
from lad_core.verdict import raw_verdict
from lad_core.verdict import verdict as spoken_verdict

_SPOKEN = {"looks": "Looks at image", "raw": "[Ss]ays", "debiased": "Debiased:", "target": "Right answer:"}
_CARDS = {
    "raw": ("Raw prediction", "what the model says: P<sub>obs</sub>"),
    "debiased": ("Debiased prediction", "its habit taken out: P<sub>vis</sub>"),
}
_VARIANTS = ("Paper and released code", "the same pass, computed three ways")
_HISTORY = ("Runs of this case", "same pictures, other seats")
HEAT_SIDE = 96  # pixels of a heatmap before the browser stretches it over its picture
SHADE = (13, 17, 28)  # what is not looked at goes dark


# ---- the verdict ----


def verdict(view: View) -> str:
    """The whole finding in one sentence, with what it amounts to above it."""
    case = view.session.case
    if view.result is None:
        sentence = "Press Run to ask the model about these pictures."
    elif view.debiased is None:
        sentence = raw_verdict(view.observation, case)
    else:
        sentence = spoken_verdict(view.debiased, case)
    headline, tone = finding(view)
    return (
        f"<div class='verdict {tone}' aria-live='polite'><p class='headline'>{headline}</p>"
        f"<p class='sentence'>{_with_pills(sentence)}</p></div>"
    )


def _with_pills(sentence: str) -> str:
    """Each seat that the sentence names, on the colour of what it is."""
    for kind, before in _SPOKEN.items():
        sentence = re.sub(rf"({before} )(\w+)(\.?)", rf"\1<span class='pill {kind}'>\2</span>\3", sentence)
    return sentence


# ---- the row of seats ----


def seats(view: View, heat: Sequence[np.ndarray] = (), strength: float = 0.0) -> str:
    """The numbered row of seats. ``heat``: one (h, w) map in 0..1 per seat, laid over the pictures."""
    n = view.session.case.n
    shades = [_shade(m, strength) for m in heat] if len(heat) and strength > 0 else [""] * n
    row = "".join(_seat(view, seat, shades[seat]) for seat in range(n))
    return f"<div class='seats' style='--n:{n}' role='group' aria-label='The pictures by seat'>{row}</div>"


def _seat(view: View, seat: int, shade: str) -> str:
    picked = [measure for measure in view.measures.values() if measure.pick == seat]
    right, selected = seat == view.target, view.session.case.order[seat] == view.selected
    facts = ["right answer"] * right + [measure.word for measure in picked] + ["selected"] * selected
    width, height = view.session.case.images[view.session.case.order[seat]].size
    shape = "fit wide" if width >= height else "fit tall"
    framed = f"<span class='frame'><span class='{shape}'>{_img(view, seat)}{shade}</span></span>"
    label = ", ".join([f"Seat {view.names[seat]}", view.picture(seat), *facts])
    flags = "".join(_flag(measure.word, measure.kind) for measure in picked)
    bars = "".join(_bar(m.word, m, seat) for m in view.measures.values())
    return f"""<div class='seat{" selected" if selected else ""}'>
<div class='flags'>{flags}</div>
<button type='button' class='picture' draggable='true' data-seat='{seat}' aria-label='{label}'
 aria-pressed='{str(selected).lower()}'>{framed}</button>
<div class='right-line'>{_flag("✓ right", "target") if right else ""}</div>
<div class='seat-name'><b>{view.names[seat]}</b><span>{view.picture(seat)}</span></div>
<div class='bars'>{bars}</div>
</div>"""


def _flag(word: str, kind: str) -> str:
    return f"<span class='flag {kind}'>{word}</span>"


def _shade(heat: np.ndarray, strength: float) -> str:
    """An (h, w) map in 0..1 as a dark veil over a picture: the picture stays bright where the model looks."""
    levels = Image.fromarray((255 * np.clip(heat, 0, 1)).astype(np.uint8))
    smooth = np.asarray(levels.resize((HEAT_SIDE, HEAT_SIDE), Image.Resampling.BICUBIC))
    veil = Image.new("RGB", smooth.shape, SHADE)
    veil.putalpha(Image.fromarray(255 - smooth))
    source = data_uri(veil, quality=60, method=0)
    return f"<img class='heat' alt='' src='{source}' style='opacity:{strength:.2f}'>"


# ---- cards ----


def card(view: View, kind: str) -> str:
    """Kind "raw" or "debiased": the picked picture, large, and the N probabilities."""
    measure = view.measures.get(kind)
    if measure is None:
        why = "No calibration ships for this setting." if view.measures else "Press Run."
        return _card(kind, *_CARDS[kind], f"<p class='empty'>{why}</p>")
    seat, marks = measure.pick, {view.target: " ✓"}
    bars = "".join(_bar(name + marks.get(s, ""), measure, s) for s, name in enumerate(view.names))
    caption = f"seat <b>{view.names[seat]}</b>, {view.picture(seat)} {_judged(view, seat)}"
    picture = f"<figure>{_img(view, seat)}<figcaption>{caption}</figcaption></figure>"
    return _card(
        kind, *_CARDS[kind], f"<div class='card-body'>{picture}<div class='bars wide'>{bars}</div></div>"
    )


def history(views: Sequence[View]) -> str:
    """The runs of this case, the latest on top: order -> raw answer, debiased answer."""
    if not views:
        return _card("history", *_HISTORY, "<p class='empty'>No runs yet.</p>")
    names = views[0].names
    rows = "".join(_past_run(view, i) for i, view in reversed(list(enumerate(views, start=1))))
    table = f"""<p class='tally'>{_tally(views)}</p>
<div class='scroll' tabindex='0' role='region' aria-label='Runs of this case'><table><thead><tr>
<th>run</th><th>seats {names[0]}–{names[-1]} hold</th><th>raw</th><th>debiased</th>
</tr></thead><tbody>{rows}</tbody></table></div>"""
    return _card("history", *_HISTORY, table)


def _past_run(view: View, number: int) -> str:
    order = " ".join(str(image + 1) for image in view.session.case.order)
    answers = _answer(view, "raw", "says") + _answer(view, "debiased", "seat")
    return f"<tr><td>{number}</td><td class='order'>{order}</td>{answers}</tr>"


def _answer(view: View, kind: str, verb: str) -> str:
    seat = view.pick(kind)
    if seat is None:
        return "<td>none</td>"
    said = f"{verb} {view.names[seat]}<br><b>{view.picture(seat)}</b><br>{_judged(view, seat)}"
    return f"<td><span class='answer {kind}'>{_img(view, seat)}<span>{said}</span></span></td>"


def _tally(views: Sequence[View]) -> str:
    """How many different pictures each answer has picked over the runs."""
    if len(views) == 1:
        return "Shuffle the seats to see which answer stays with its picture."
    raw, debiased = _picked(views, "raw"), _picked(views, "debiased")
    return f"In {len(views)} runs, raw: <b>{raw}</b>; debiased: <b>{debiased}</b>."


def _picked(views: Sequence[View], kind: str) -> str:
    pictures = {view.picture(view.pick(kind)) for view in views if view.pick(kind) is not None}
    if not pictures:
        return "none"
    return f"always {pictures.pop()}" if len(pictures) == 1 else f"{len(pictures)} different pictures"


def variants(views: Sequence[View]) -> str:
    """The same observation computed in each variant, side by side."""
    rows = "".join(_variant_row(view) for view in views if view.debiased)
    if not rows:
        return _card("variants", *_VARIANTS, "<p>Nothing to compare yet.</p>")
    table = f"""<div class='scroll'><table><thead><tr>
<th>variant</th><th>layers used</th><th>looks at (π)</th><th>debiased answer</th>
</tr></thead><tbody>{rows}</tbody></table></div>"""
    return _card("variants", *_VARIANTS, table)


def _variant_row(view: View) -> str:
    layers = ", ".join(str(layer + 1) for layer in view.debiased.selected_layers)
    cells = "".join(f"<td>{_seat_with_number(view, kind)}</td>" for kind in ("looks", "debiased"))
    return f"<tr><td>{VARIANTS[view.debiased.settings.variant]}</td><td>{layers}</td>{cells}</tr>"


def _seat_with_number(view: View, kind: str) -> str:
    measure = view.measures[kind]
    return f"<b>{view.names[measure.pick]}</b> ({measure.values[measure.pick]:.2f}) {_judged(view, measure.pick)}"


# ---- the message line ----


def notice(text: str, tone: str = "warning") -> str:
    """A line of the message area: a warning, an "info" or a quiet "status"; nothing if there is no text."""
    role = "status" if tone == "status" else "alert"
    return f"<p class='notice {tone}' role='{role}'>{escape(text)}</p>" if text else ""


def status(session: Session) -> str:
    """The message area when there is nothing to warn of: what the run took."""
    if session.run is None:
        return notice(f"{session.model} has not been asked about this order yet.", "status")
    observation, n = session.run.observation, session.case.n
    passes = "one pass" if observation.forward_passes == 1 else f"{observation.forward_passes} passes"
    return notice(
        f"{session.model} looked at {n} pictures in {passes}, {sum(observation.seconds.values()):.2f} s.",
        "status",
    )


# ---- parts ----


def _card(kind: str, title: str, what: str, body: str) -> str:
    head = f"<div class='card-head'><h3>{title}</h3><span>{what}</span></div>"
    return f"<div class='card {kind}'>{head}{body}</div>"


def _img(view: View, seat: int) -> str:
    return f"<img alt='{view.picture(seat)}' src='{view.thumbnail(seat)}' draggable='false'>"


def _bar(word: str, measure: Measure, seat: int) -> str:
    value = float(measure.values[seat])
    strong = " strong" if measure.pick == seat else ""
    return (
        f"<div class='bar {measure.kind}{strong}'><span class='word'>{word}</span>"
        f"<span class='track'><i style='width:{100 * min(max(value, 0), 1):.1f}%'></i></span>"
        f"<span class='value'>{value:.2f}</span></div>"
    )


def _judged(view: View, seat: int) -> str:
    if view.target is None:
        return ""
    right = seat == view.target
    return f"<span class='judged {'right' if right else 'wrong'}'>{'✓ right' if right else '✗ wrong'}</span>"
