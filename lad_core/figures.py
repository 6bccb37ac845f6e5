"""Results -> Plotly figures and heatmaps, by seat. Pure functions of an observation or a debiased result.

One colour for one idea in every figure (Okabe-Ito): the raw answer vermilion, the debiased one blue, the
target green, attention orange, the prior grey. Backgrounds are transparent, for light pages and dark ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from lad_core.debias import Debiased, strength
from lad_core.observation import Observation, log_softmax
from lad_core.verdict import seat_names

RAW, DEBIASED, TARGET, LOOKS, PRIOR = "#D55E00", "#0072B2", "#009E73", "#E69F00", "#8A8F98"

_TEXT = "#5b6270"  # readable on white and on black; the page sets its own text colour over it
_GRID = "rgba(128, 136, 150, 0.28)"
_FONT = {"family": "Segoe UI, Roboto, Helvetica Neue, Liberation Sans, Arial, sans-serif", "size": 15}
_SEATS = {"type": "category", "showgrid": False}
_HATCHED = {
    "color": "rgba(230, 159, 0, 0.18)",
    "line": {"color": LOOKS, "width": 1.5},
    "pattern": {"shape": "/", "fgcolor": LOOKS, "size": 6},
}
_HOVER = {"hovertemplate": "seat %{x}: %{y:.3f}<extra></extra>"}
_OUTSIDE = {"textposition": "outside", "textfont_size": 14, "textangle": 0, "constraintext": "none"}
_MOST_CELLS = 130  # a heatmap with more cells than this goes without numbers
_MOST_NATS = 25.0  # what is less likely than exp(-25) of the likeliest is drawn at the bottom


def subtraction(debiased: Debiased) -> go.Figure:
    """Three rows over the same seats: log P_obs - log P_prior = log P_vis (Eq. 14), in nats.

    In the released variant the rows are its scores, the mixed bias and their difference.
    """
    prior = debiased.log_prior
    if debiased.settings.variant != "released":
        values = (debiased.observation.log_probs, prior, debiased.log_p_vis)
        names = ("log P<sub>obs</sub>", "log P<sub>prior</sub>", "log P<sub>vis</sub>")
        note = "in nats, normalised"
    else:
        values = (debiased.observation.scores, prior, debiased.scores)
        names, note = ("score", "π · B", "difference"), "as the released code scores"
    rows = np.stack(values)  # (3, N)
    # One axis for all three, so that they can be subtracted by eye.
    highest = rows.max()
    lowest = max(rows.min(), highest - _MOST_NATS)
    span = max(highest - lowest, 1.0)
    floor = lowest - 0.1 * span
    figure = make_subplots(rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.07)
    signs, colours = ("", "− ", "= "), (RAW, PRIOR, DEBIASED)
    for i, (row, name) in enumerate(zip(rows, names, strict=True)):
        figure.add_bar(
            x=seat_names(debiased.observation),
            y=np.maximum(row - floor, 0),
            base=floor,
            marker_color=colours[i],
            text=[_one_digit(value) for value in row],
            cliponaxis=False,
            hovertemplate=f"seat %{{x}}<br>{name} = %{{text}}<extra></extra>",
            row=i + 1,
            col=1,
            **_OUTSIDE,
        )
        figure.update_yaxes(title_text=signs[i] + name, range=[floor, lowest + 1.25 * span], row=i + 1, col=1)
    figure.update_xaxes(**_SEATS)
    figure.update_xaxes(title_text="seat", row=3, col=1)
    equation = f"{names[0]} − {names[1]} = {names[2]}"
    return _styled(figure, "Said − habit = seen", f"{equation}<br>{note}; taller is likelier", height=580)


def attention(result: Debiased | Observation) -> go.Figure:
    """Raw attention by seat (Eq. 6), its usual value (Eq. 7), and the purified π (Eq. 11-12).

    Raw and usual attention are means over the selected layers, as shares of what all images receive. An
    observation alone has raw attention only, over all layers.
    """
    debiased = result if isinstance(result, Debiased) else None
    observation = debiased.observation if debiased else result
    layers = list(debiased.selected_layers) if debiased else slice(None)
    seats, raw = seat_names(observation), _share(observation.attention[layers].mean(0))
    figure = go.Figure()
    if debiased is None:
        figure.add_bar(x=seats, y=raw, name="raw a", marker=_HATCHED, **_numbers(raw))
        equation = "raw attention a (Eq. 6), mean over all layers"
    else:
        usual, π = _share(debiased.calibration.attention_prior[layers].mean(0)), debiased.posterior
        figure.add_bar(x=seats, y=raw, name="raw a", marker=_HATCHED, **_HOVER)
        figure.add_bar(x=seats, y=usual, name="usual â<sub>prior</sub>", marker_color=PRIOR, **_HOVER)
        figure.add_bar(x=seats, y=π, name="π, purified", marker_color=LOOKS, **_numbers(π))
        equation = "π = softmax(τ · mean<sub>L*</sub>(log a − log â<sub>prior</sub>))"
    _unit_axes(figure, "share (all seats: 1)")
    return _styled(figure, "Where the model looks", equation)


def prior(debiased: Debiased) -> go.Figure:
    """The estimated dynamic prior (Eq. 13) beside what the model answered, as probabilities by seat."""
    seats = seat_names(debiased.observation)
    observed, expected = np.exp(debiased.observation.log_probs), np.exp(log_softmax(debiased.log_prior))
    figure = go.Figure()
    figure.add_bar(
        x=seats, y=expected, name="P<sub>prior</sub>, habit", marker_color=PRIOR, **_numbers(expected)
    )
    figure.add_bar(x=seats, y=observed, name="P<sub>obs</sub>, said", marker_color=RAW, **_numbers(observed))
    _unit_axes(figure, "probability")
    equation = "P<sub>prior</sub>(j) = Σ<sub>k</sub> π<sub>k</sub> P<sub>bias</sub>(j | k)"
    if debiased.settings.variant == "released":
        equation = "released code: softmax of Σ<sub>k</sub> π<sub>k</sub> B(k, j)"
    return _styled(figure, "What habit alone would answer", equation)


def layers(result: Debiased | Observation, purified: bool = True) -> go.Figure:
    """Layers x seats: raw attention (Eq. 6) or purified, log a - log â_prior; beside it S and layer accuracy.

    The selected layers L* carry a frame and a mark on the axis. An observation alone shows raw attention, S.
    """
    debiased = result if isinstance(result, Debiased) else None
    observation = debiased.observation if debiased else result
    purified = purified and debiased is not None
    values = debiased.purified if purified else observation.attention  # (L, N)
    selected = set(debiased.selected_layers) if debiased else set()
    seats, rows = seat_names(observation), np.arange(1, len(values) + 1)
    figure = make_subplots(
        rows=1, cols=2, shared_yaxes=True, column_widths=[0.74, 0.26], horizontal_spacing=0.03
    )
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=1e-9))
    figure.add_heatmap(
        x=seats,
        y=rows,
        z=values,
        colorscale="PuOr_r" if purified else "Oranges",
        zmin=-largest if purified else 0,
        zmax=largest,
        xgap=2,
        ygap=2,
        texttemplate=("%{z:.1f}" if purified else "%{z:.2f}") if values.size <= _MOST_CELLS else None,
        textfont_size=14,
        hovertemplate="layer %{y}, seat %{x}: %{z:.3f}<extra></extra>",
        showscale=False,
        row=1,
        col=1,
    )
    figure.add_bar(
        x=strength(observation.attention),
        y=rows,
        orientation="h",
        marker_color=[LOOKS if layer in selected else PRIOR for layer in range(len(rows))],
        hovertemplate="layer %{y}: S = %{x:.3f}<extra></extra>",
        row=1,
        col=2,
    )
    if debiased:
        figure.add_scatter(
            x=debiased.calibration.layer_accuracy,
            y=rows,
            mode="markers",
            marker={"symbol": "diamond", "size": 11, "color": TARGET, "line": {"width": 1, "color": "white"}},
            hovertemplate="layer %{y} alone finds the target in %{x:.0%} of calibration<extra></extra>",
            row=1,
            col=2,
        )
    for layer in selected:
        frame = {"x0": -0.5, "x1": len(seats) - 0.5, "y0": layer + 0.5, "y1": layer + 1.5}
        figure.add_shape(type="rect", line={"color": LOOKS, "width": 3}, **frame, row=1, col=1)
    figure.update_xaxes(title_text="seat", **_SEATS, row=1, col=1)
    title = "S ▬   hits ◆" if debiased else "S ▬"
    figure.update_xaxes(title_text=title, range=[0, 1.06], tickvals=[0, 0.5, 1], row=1, col=2)
    figure.update_yaxes(title_text="layer (▸ selected)" if debiased else "layer", row=1, col=1)
    figure.update_yaxes(tickvals=rows, ticktext=_layer_ticks(len(rows), selected), showgrid=False)
    equation = "log a − log â<sub>prior</sub>, in nats" if purified else "a (Eq. 6), share of attention"
    height = max(580, 200 + 15 * len(rows))
    return _styled(figure, "Layer by layer", f"{equation}; S = Σ<sub>k</sub> a<sub>k</sub>", height)


def message(text: str, height: int = 430) -> go.Figure:
    """A figure that has nothing to show and says why."""
    figure = go.Figure()
    figure.add_annotation(text=text, showarrow=False, font_size=16)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return _styled(figure, "", "", height)


def heatmaps(
    result: Debiased | Observation, layers: Sequence[int] | None = None, purified: bool = True
) -> tuple[np.ndarray, ...]:
    """Per seat an (h, w) map in 0..1 of the attention on the picture's patches, one scale for all seats.

    Mean over ``layers`` (the selected ones if not given). Purified: each seat's attention is divided by its
    â_prior first, so that a seat that is looked at anyway does not outshine the others. Empty if the
    observation holds no patches.
    """
    debiased = result if isinstance(result, Debiased) else None
    observation = debiased.observation if debiased else result
    if observation.patch_attention is None:
        return ()
    if layers is None:
        layers = debiased.selected_layers if debiased else range(len(observation.attention))
    chosen = list(layers)
    maps = [patches[chosen] for patches in observation.patch_attention]  # N x (K, h, w)
    if purified and debiased:
        usual = np.maximum(debiased.calibration.attention_prior[chosen], np.finfo(float).tiny)  # (K, N)
        maps = [m / usual[:, seat, None, None] for seat, m in enumerate(maps)]
    maps = [m.mean(0) * m[0].size for m in maps]  # a picture with more patches has less attention on each
    top = max(float(m.max()) for m in maps)
    return tuple(m / top if top > 0 else m for m in maps)


def _share(values: np.ndarray) -> np.ndarray:
    total = values.sum()
    return values / total if total > 0 else np.full_like(values, 1 / len(values))


def _one_digit(value: float) -> str:
    return f"{value:.1f}".replace("-0.0", "0.0").replace("-", "−")


def _numbers(values: np.ndarray) -> dict:
    """The numbers above the bars, none where the bar is too small to matter; all of them show on hovering."""
    return {
        "text": [f"{v:.2f}" if v >= 0.05 else "" for v in values],
        "cliponaxis": False,
        **_OUTSIDE,
        **_HOVER,
    }


def _unit_axes(figure: go.Figure, title: str) -> None:
    figure.update_xaxes(title_text="seat", **_SEATS)
    figure.update_yaxes(title_text=title, range=[0, 1.12], tickvals=[0, 0.25, 0.5, 0.75, 1])


def _layer_ticks(n: int, selected: set[int]) -> list[str]:
    """Every layer's number where there are few, every fourth and the selected ones where there are many."""
    shown = [n <= 16 or layer in selected or (layer + 1) % 4 == 0 for layer in range(n)]
    ticks = [f"<b>▸ {i + 1}</b>" if i in selected else str(i + 1) for i in range(n)]
    return [tick if show else "" for tick, show in zip(ticks, shown, strict=True)]


def _styled(figure: go.Figure, title: str, equation: str, height: int = 430) -> go.Figure:
    """The look that all figures share. A legend stands between the title and the plot."""
    legend = sum(bool(trace.name) for trace in figure.data) > 1
    figure.update_layout(
        template="none",
        title={
            "text": f"<b>{title}</b><br><span style='font-size:16px'>{equation}</span>",
            "font": {"size": 20},
            "pad": {"l": 2, "t": 24},
            **{"x": 0, "xref": "container", "xanchor": "left", "y": 1, "yref": "container", "yanchor": "top"},
        },
        font={**_FONT, "color": _TEXT},
        height=height,
        margin={"l": 64, "r": 12, "t": 116 if legend else 84, "b": 56},
        paper_bgcolor="rgba(0, 0, 0, 0)",
        plot_bgcolor="rgba(0, 0, 0, 0)",
        dragmode=False,
        bargap=0.25,
        bargroupgap=0.08,
        showlegend=legend,
        legend={"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "font": {"size": 15}},
        legend_itemclick=False,
        legend_itemdoubleclick=False,
        hoverlabel_font_size=15,
    )
    axes = {
        "gridcolor": _GRID,
        "linecolor": _GRID,
        "zeroline": False,
        "fixedrange": True,
        "title_font_size": 15,
    }
    figure.update_xaxes(**axes, tickfont_size=15)
    figure.update_yaxes(**axes, tickfont_size=14)
    return figure
