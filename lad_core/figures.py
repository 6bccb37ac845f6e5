"""Results -> Plotly figures and heatmaps, by seat. Pure functions of an observation or a debiased result.

One colour for one idea in every figure (Okabe-Ito): the raw answer vermilion, the debiased one blue, the
target green, attention orange, the prior grey. Backgrounds are transparent, for light pages and dark ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from lad_core.debias import Debiased, strength
from lad_core.observation import Observation, log_softmax
from lad_core.verdict import seat_names

RAW, DEBIASED, TARGET, LOOKS, PRIOR = "#D55E00", "#0072B2", "#009E73", "#E69F00", "#8A8F98"

_GRID = "rgba(128, 136, 150, 0.28)"
_AXIS = {
    "gridcolor": _GRID,
    "linecolor": _GRID,
    "zeroline": False,
    "fixedrange": True,
    "title": {"font": {"size": 15}},
    "tickfont": {"size": 15},
}
_LAYOUT = {
    "template": "none",
    # The text colour is readable on white and on black; the page sets its own over it.
    "font": {
        "family": "Segoe UI, Roboto, Helvetica Neue, Liberation Sans, Arial",
        "size": 15,
        "color": "#5b6270",
    },
    "paper_bgcolor": "rgba(0, 0, 0, 0)",
    "plot_bgcolor": "rgba(0, 0, 0, 0)",
    "dragmode": False,
    "bargap": 0.25,
    "bargroupgap": 0.08,
    "hoverlabel": {"font": {"size": 15}},
}
_LEGEND = {
    "orientation": "h",
    "x": 0,
    "y": 1.01,
    "yanchor": "bottom",
    "itemclick": False,
    "itemdoubleclick": False,
}
_TOP_LEFT = {"x": 0, "xref": "container", "xanchor": "left", "y": 1, "yref": "container", "yanchor": "top"}
_OUTSIDE = {
    "textposition": "outside",
    "textfont": {"size": 14},
    "textangle": 0,
    "constraintext": "none",
    "cliponaxis": False,
}
_HATCHED = {
    "color": "rgba(230, 159, 0, 0.18)",
    "line": {"color": LOOKS, "width": 1.5},
    "pattern": {"shape": "/", "fgcolor": LOOKS, "size": 6},
}
_MOST_CELLS = 130  # a heatmap with more cells than this goes without numbers
_MOST_NATS = 25.0  # what is less likely than exp(-25) of the likeliest is drawn at the bottom


def subtraction(debiased: Debiased) -> go.Figure:
    """Three rows over the same seats: log P_obs - log P_prior = log P_vis (Eq. 14), in nats.

    In the released variant the rows are its scores, the mixed bias and their difference.
    """
    if debiased.settings.variant == "released":
        rows = np.stack([debiased.observation.scores, debiased.log_prior, debiased.scores])  # (3, N)
        names, note = ("score", "π · B", "difference"), "as the released code scores"
    else:
        rows = np.stack([debiased.observation.log_probs, debiased.log_prior, debiased.log_p_vis])
        names = ("log P<sub>obs</sub>", "log P<sub>prior</sub>", "log P<sub>vis</sub>")
        note = "in nats, normalised"
    # One scale for all three, so that they can be subtracted by eye.
    highest = rows.max()
    lowest = max(rows.min(), highest - _MOST_NATS)
    span = max(highest - lowest, 1.0)
    floor, top = lowest - 0.1 * span, lowest + 1.25 * span
    seats = seat_names(debiased.observation)
    traces = [
        {
            "type": "bar",
            "x": seats,
            "y": np.maximum(row - floor, 0),
            "base": floor,
            "yaxis": f"y{i + 1}",
            "marker": {"color": colour},
            "text": [_one_digit(value) for value in row],
            "hovertemplate": f"seat %{{x}}<br>{name} = %{{text}}<extra></extra>",
            **_OUTSIDE,
        }
        for i, (row, name, colour) in enumerate(zip(rows, names, (RAW, PRIOR, DEBIASED), strict=True))
    ]
    axes = {
        f"yaxis{i + 1}": {"title": {"text": sign + name}, "range": [floor, top], "domain": domain}
        for i, (sign, name, domain) in enumerate(
            zip(("", "− ", "= "), names, ([0.71, 1], [0.355, 0.645], [0, 0.29]), strict=True)
        )
    }
    equation = f"{names[0]} − {names[1]} = {names[2]}<br>{note}; taller is likelier"
    return _figure(
        "Said − habit = seen", equation, traces, {"xaxis": _seat_axis(anchor="y3"), **axes}, height=580
    )


def attention(result: Debiased | Observation) -> go.Figure:
    """Raw attention by seat (Eq. 6), its usual value (Eq. 7), and the purified π (Eq. 11-12).

    Raw and usual attention are means over the selected layers, as shares of what all images receive. An
    observation alone has raw attention only, over all layers.
    """
    debiased = result if isinstance(result, Debiased) else None
    observation = debiased.observation if debiased else result
    layers = list(debiased.selected_layers) if debiased else slice(None)
    seats, raw = seat_names(observation), _share(observation.attention[layers].mean(0))
    if debiased is None:
        traces = [_bar(seats, raw, "raw a", _HATCHED)]
        equation = "raw attention a (Eq. 6), mean over all layers"
    else:
        usual = _share(debiased.calibration.attention_prior[layers].mean(0))
        traces = [
            _bar(seats, raw, "raw a", _HATCHED, numbers=False),
            _bar(seats, usual, "usual â", {"color": PRIOR}, numbers=False),
            _bar(seats, debiased.posterior, "π", {"color": LOOKS}),
        ]
        equation = "π = softmax(τ · mean<sub>L*</sub>(log a − log â<sub>prior</sub>))"
    axes = {"xaxis": _seat_axis(), "yaxis": _unit_axis("share (all seats: 1)")}
    return _figure("Where the model looks", equation, traces, axes)


def prior(debiased: Debiased) -> go.Figure:
    """The estimated dynamic prior (Eq. 13) beside what the model answered, as probabilities by seat."""
    seats = seat_names(debiased.observation)
    traces = [
        _bar(seats, np.exp(log_softmax(debiased.log_prior)), "habit P<sub>prior</sub>", {"color": PRIOR}),
        _bar(seats, np.exp(debiased.observation.log_probs), "said P<sub>obs</sub>", {"color": RAW}),
    ]
    equation = "P<sub>prior</sub>(j) = Σ<sub>k</sub> π<sub>k</sub> P<sub>bias</sub>(j | k)"
    if debiased.settings.variant == "released":
        equation = "released code: P<sub>prior</sub> = softmax of Σ<sub>k</sub> π<sub>k</sub> B(k, j)"
    axes = {"xaxis": _seat_axis(), "yaxis": _unit_axis("probability")}
    return _figure("What habit alone says", equation, traces, axes)


def layers(result: Debiased | Observation, purified: bool = True) -> go.Figure:
    """Layers x seats: raw attention (Eq. 6) or purified, log a - log â_prior; beside it S and layer accuracy.

    The selected layers L* carry a frame and a mark on the axis. An observation alone shows raw attention, S.
    """
    debiased = result if isinstance(result, Debiased) else None
    observation = debiased.observation if debiased else result
    purified = purified and debiased is not None
    values = debiased.purified if purified else observation.attention  # (L, N)
    selected = debiased.selected_layers if debiased else ()
    seats, rows = seat_names(observation), np.arange(1, len(values) + 1)
    largest = float(np.abs(values).max(initial=1e-9))
    heatmap = {
        "type": "heatmap",
        "x": seats,
        "y": rows,
        "z": values,
        "colorscale": "PuOr_r" if purified else "Oranges",
        "zmin": -largest if purified else 0,
        "zmax": largest,
        "xgap": 2,
        "ygap": 2,
        "texttemplate": ("%{z:.1f}" if purified else "%{z:.2f}") if values.size <= _MOST_CELLS else None,
        "textfont": {"size": 14},
        "hovertemplate": "layer %{y}, seat %{x}: %{z:.3f}<extra></extra>",
        "showscale": False,
    }
    bars = {
        "type": "bar",
        "x": strength(observation.attention),
        "y": rows,
        "xaxis": "x2",
        "orientation": "h",
        "marker": {"color": [LOOKS if layer in selected else PRIOR for layer in range(len(rows))]},
        "hovertemplate": "layer %{y}: S = %{x:.3f}<extra></extra>",
    }
    traces = [heatmap, bars]
    if debiased:
        traces.append(
            {
                "type": "scatter",
                "x": debiased.calibration.layer_accuracy,
                "y": rows,
                "xaxis": "x2",
                "mode": "markers",
                "marker": {
                    "symbol": "diamond",
                    "size": 11,
                    "color": TARGET,
                    "line": {"width": 1, "color": "white"},
                },
                "hovertemplate": "layer %{y} finds the target in %{x:.0%} of calibration<extra></extra>",
            }
        )
    frames = [
        {"type": "rect", "x0": -0.5, "x1": len(seats) - 0.5, "y0": layer + 0.5, "y1": layer + 1.5}
        | {"line": {"color": LOOKS, "width": 3}}
        for layer in selected
    ]
    beside = {"text": "S ▬   hits ◆" if debiased else "S ▬"}
    axes = {
        "xaxis": _seat_axis(domain=[0, 0.74]),
        "xaxis2": {"title": beside, "range": [0, 1.06], "tickvals": [0, 0.5, 1], "domain": [0.77, 1]},
        "yaxis": {
            "title": {"text": "layer (▸ selected)" if debiased else "layer"},
            "tickvals": rows,
            "ticktext": _layer_ticks(len(rows), selected),
            "showgrid": False,
        },
    }
    equation = "log a − log â<sub>prior</sub>, in nats" if purified else "a (Eq. 6), share of attention"
    equation += "; S = Σ<sub>k</sub> a<sub>k</sub>"
    height = max(580, 200 + 15 * len(rows))
    return _figure("Layer by layer", equation, traces, axes, height=height, shapes=frames)


def message(text: str, height: int = 430) -> go.Figure:
    """A figure that has nothing to show and says why."""
    said = {"text": text, "showarrow": False, "font": {"size": 16}}
    hidden = {"xaxis": {"visible": False}, "yaxis": {"visible": False}}
    return _figure("", "", [], hidden, height=height, annotations=[said])


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


def _bar(seats: Sequence[str], values: np.ndarray, name: str, marker: dict, numbers: bool = True) -> dict:
    """Bars by seat. Numbers stand above those that are not too small to matter; all show on hovering."""
    bar = {"type": "bar", "x": seats, "y": values, "name": name, "marker": marker}
    bar["hovertemplate"] = "seat %{x}: %{y:.3f}<extra></extra>"
    if numbers:
        bar |= {"text": [f"{value:.2f}" if value >= 0.05 else "" for value in values], **_OUTSIDE}
    return bar


def _seat_axis(**options) -> dict:
    return {"title": {"text": "seat"}, "type": "category", "showgrid": False, **options}


def _unit_axis(title: str) -> dict:
    return {"title": {"text": title}, "range": [0, 1.12], "tickvals": [0, 0.25, 0.5, 0.75, 1]}


def _layer_ticks(n: int, selected: Sequence[int]) -> list[str]:
    """Every layer's number where there are few, every fourth and the selected ones where there are many."""
    shown = [n <= 16 or layer in selected or (layer + 1) % 4 == 0 for layer in range(n)]
    ticks = [f"<b>▸ {i + 1}</b>" if i in selected else str(i + 1) for i in range(n)]
    return [tick if show else "" for tick, show in zip(ticks, shown, strict=True)]


def _figure(
    title: str, equation: str, traces: Sequence[dict], axes: dict[str, dict], height: int = 430, **layout
) -> go.Figure:
    """One look for all. A legend, where traces have names, stands between the title and the plot.

    Built in one go: Plotly takes ten times as long to change a figure as to make it.
    """
    legend = any("name" in trace for trace in traces)
    text = f"<b>{title}</b><br><span style='font-size:16px'>{equation}</span>"
    styled = {
        name: {**_AXIS, **axis, "title": {**_AXIS["title"], **axis.get("title", {})}}
        for name, axis in axes.items()
    }
    return go.Figure(
        data=traces,
        layout={
            **_LAYOUT,
            "title": {"text": text, "font": {"size": 20}, "pad": {"l": 2, "t": 24}, **_TOP_LEFT},
            "height": height,
            "margin": {"l": 64, "r": 12, "t": 116 if legend else 84, "b": 56},
            "showlegend": legend,
            "legend": _LEGEND,
            **styled,
            **layout,
        },
    )
