"""Results -> Plotly figures and heatmaps, by seat. Pure functions of an observation or a debiased result.

One colour for one idea in every figure (Okabe-Ito): the raw answer vermilion, the debiased one blue, the target
green, attention orange, the prior grey. Backgrounds are transparent, so that a page may be light or dark.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from lad_core.debias import Debiased
from lad_core.observation import Observation
from lad_core.verdict import seat_names

RAW, DEBIASED, TARGET, LOOKS, PRIOR = "#D55E00", "#0072B2", "#009E73", "#E69F00", "#8A8F98"

_TEXT = "#5b6270"  # readable on white and on black; the page sets its own text colour over it
_GRID = "rgba(128,136,150,0.28)"
_FONT = dict(
    family="Segoe UI, Roboto, Helvetica Neue, Liberation Sans, Arial, sans-serif", size=15, color=_TEXT
)
_SEATS = dict(type="category", showgrid=False)
_MOST_CELLS = 130  # a heatmap with more cells than this goes without numbers


def subtraction(debiased: Debiased) -> go.Figure:
    """Three rows over the same seats: log P_obs - log P_prior = log P_vis (Eq. 14), in nats.

    In the released variant the rows are its scores, the mixed bias and their difference.
    """
    if debiased.released_scores is None:
        rows = (debiased.observation.log_probs, debiased.log_prior, debiased.log_p_vis)
        names, equation = (
            ("log P<sub>obs</sub>", "log P<sub>prior</sub>", "log P<sub>vis</sub>"),
            "in nats, normalised",
        )
    else:
        scores = debiased.released_scores
        rows = (scores + debiased.log_prior, debiased.log_prior, scores)
        names, equation = ("scores", "π · B", "difference"), "the released code's scores"
    figure = make_subplots(rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.07)
    seats = seat_names(debiased.observation)
    for row, (values, name, colour) in enumerate(
        zip(rows, names, (RAW, PRIOR, DEBIASED), strict=True), start=1
    ):
        floor, top = _floor_and_top(values)
        figure.add_bar(
            x=seats,
            y=np.maximum(values - floor, 0),
            base=floor,
            marker_color=colour,
            text=[_short(v, len(seats)) for v in values],
            textposition="outside",
            textfont_size=14,
            constraintext="none",
            cliponaxis=False,
            hovertemplate=f"seat %{{x}}<br>{name} = %{{text}}<extra></extra>",
            row=row,
            col=1,
        )
        sign = ("", "− ", "= ")[row - 1]
        figure.update_yaxes(title_text=sign + name, range=[floor, top], row=row, col=1)
    figure.update_xaxes(**_SEATS)
    figure.update_xaxes(title_text="seat", row=3, col=1)
    title = f"{names[0]} − {names[1]} = {names[2]}"
    return _styled(figure, "Said − habit = seen", f"{title}<br>{equation}; taller is likelier", height=580)


def attention(result: Debiased | Observation, layers: Sequence[int] | None = None) -> go.Figure:
    """Raw attention by seat, and the purified π beside it (Eq. 11-12); an observation alone has no π.

    Raw attention is the mean of Eq. 6 over the selected layers (else over ``layers``, else over all), as a share of
    what all images receive.
    """
    debiased = result if isinstance(result, Debiased) else None
    observation = debiased.observation if debiased else result
    chosen = list(debiased.selected_layers if debiased else layers or range(len(observation.attention)))
    seats = seat_names(observation)
    raw = _share(observation.attention[chosen].mean(0))
    figure = go.Figure()
    figure.add_bar(
        x=seats, y=raw, name="raw a", marker=_hatched(LOOKS), **(_hover() if debiased else _numbers(raw))
    )
    if debiased:
        usual = _share(debiased.calibration.attention_prior[chosen].mean(0))
        figure.add_bar(x=seats, y=usual, name="usual â<sub>prior</sub>", marker_color=PRIOR, **_hover())
        π = debiased.posterior
        figure.add_bar(x=seats, y=π, name="π, purified", marker_color=LOOKS, **_numbers(π))
    _unit_axis(figure, "share (all seats: 1)")
    figure.update_xaxes(title_text="seat", **_SEATS)
    equation = (
        "π = softmax(τ · mean<sub>L*</sub>(log a − log â<sub>prior</sub>))"
        if debiased
        else "raw attention a (Eq. 6)"
    )
    return _styled(figure, "Where the model looks", equation)


def prior(debiased: Debiased) -> go.Figure:
    """The estimated dynamic prior (Eq. 13) beside what the model answered, as probabilities by seat."""
    seats = seat_names(debiased.observation)
    observed = np.exp(debiased.observation.log_probs)
    expected = _softmax(debiased.log_prior)
    figure = go.Figure()
    figure.add_bar(
        x=seats, y=expected, name="P<sub>prior</sub>, habit", marker_color=PRIOR, **_numbers(expected)
    )
    figure.add_bar(x=seats, y=observed, name="P<sub>obs</sub>, said", marker_color=RAW, **_numbers(observed))
    _unit_axis(figure, "probability")
    figure.update_xaxes(title_text="seat", **_SEATS)
    equation = "P<sub>prior</sub>(j) = Σ<sub>k</sub> π<sub>k</sub> P<sub>bias</sub>(j | k)"
    if debiased.released_scores is not None:
        equation = "released code: softmax(Σ<sub>k</sub> π<sub>k</sub> B(k, j))"
    return _styled(figure, "What habit alone would answer", equation)


def layers(result: Debiased | Observation, purified: bool = True) -> go.Figure:
    """Layers x seats: raw attention (Eq. 6) or purified, log a - log â_prior; with S and the layers' accuracy.

    The selected layers L* carry a frame and a mark on the axis. An observation alone shows raw attention and S.
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
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max()) if finite.size else 1.0
    figure.add_heatmap(
        x=seats,
        y=rows,
        z=np.where(np.isfinite(values), values, np.nan),
        colorscale="PuOr_r" if purified else "Oranges",
        zmin=-largest if purified else 0,
        zmax=largest,
        xgap=2,
        ygap=2,
        texttemplate=("%{z:.1f}" if purified else "%{z:.2f}") if values.size <= _MOST_CELLS else None,
        textfont_size=14 if len(seats) <= 8 else 12,
        hovertemplate="layer %{y}, seat %{x}: %{z:.3f}<extra></extra>",
        showscale=False,
        row=1,
        col=1,
    )
    strength = debiased.strength if debiased else observation.attention.sum(1)
    colours = [LOOKS if layer in selected else PRIOR for layer in range(len(values))]
    figure.add_bar(
        x=strength, y=rows, orientation="h", marker_color=colours, name="S", showlegend=False,
        hovertemplate="layer %{y}: S = %{x:.3f}<extra></extra>", row=1, col=2,
    )  # fmt: skip
    if debiased and debiased.calibration.layer_accuracy is not None:
        figure.add_scatter(
            x=debiased.calibration.layer_accuracy, y=rows, mode="markers", name="right in calibration",
            marker=dict(symbol="diamond", size=11, color=TARGET, line=dict(width=1, color="white")),
            hovertemplate="layer %{y}: finds the target in %{x:.0%} of calibration<extra></extra>",
            showlegend=False, row=1, col=2,
        )  # fmt: skip
    for layer in selected:
        figure.add_shape(
            type="rect", x0=-0.5, x1=len(seats) - 0.5, y0=layer + 0.5, y1=layer + 1.5,
            line=dict(color=LOOKS, width=3), row=1, col=1,
        )  # fmt: skip
    ticks = [f"<b>▸ {row}</b>" if row - 1 in selected else str(row) for row in rows]
    figure.update_yaxes(title_text="layer (▸ selected, L*)", row=1, col=1)
    figure.update_yaxes(tickvals=rows, ticktext=_thinned(ticks, selected), showgrid=False, zeroline=False)
    figure.update_xaxes(title_text="seat", **_SEATS, row=1, col=1)
    figure.update_xaxes(title_text="S ▬   hits ◆", range=[0, 1.06], tickvals=[0, 0.5, 1], row=1, col=2)
    equation = "log a − log â<sub>prior</sub>, in nats" if purified else "a, Eq. 6: share of the attention"
    height = max(580, 200 + 15 * len(rows))
    return _styled(figure, "Layer by layer", equation + "; S = Σ<sub>k</sub> a<sub>k</sub>", height=height)


def message(text: str, height: int = 430) -> go.Figure:
    """A figure that has nothing to show and says why."""
    figure = go.Figure()
    figure.add_annotation(text=text, showarrow=False, font_size=16)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return _styled(figure, "", "", height=height)


def heatmaps(
    result: Debiased | Observation, layers: Sequence[int] | None = None, purified: bool = True
) -> tuple[np.ndarray, ...]:
    """Per seat an (h, w) map in 0..1 of the attention on the picture's patches, one scale for all seats.

    Mean over ``layers`` (the selected ones if not given). Purified: each seat's attention is divided by its
    â_prior first, so that a patch of a neglected seat can shine. Empty if the observation holds no patches.
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


def _softmax(values: np.ndarray) -> np.ndarray:
    weights = np.exp(values - values.max())
    return weights / weights.sum()


def _floor_and_top(values: np.ndarray) -> tuple[float, float]:
    """An axis from just below the smallest finite value to above the largest, with room for the numbers."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 0.0)
    span = max(high - low, 1.0)
    return low - 0.06 * span, high + 0.3 * span


def _short(value: float, n: int) -> str:
    return f"{value:.1f}".replace("-", "−") if n <= 8 else f"{value:.0f}".replace("-", "−")


def _numbers(values: np.ndarray) -> dict:
    """The numbers above the bars: two digits, and none where the bar is too small to matter."""
    return dict(
        text=[f"{v:.2f}" if v >= 0.05 else "" for v in values],
        textposition="outside",
        textfont_size=14,
        constraintext="none",
        textangle=0,
        cliponaxis=False,
        **_hover(),
    )


def _hover() -> dict:
    return dict(hovertemplate="seat %{x}: %{y:.3f}<extra></extra>")


def _hatched(colour: str) -> dict:
    return dict(
        color="rgba(230,159,0,0.18)",
        line=dict(color=colour, width=1.5),
        pattern=dict(shape="/", fgcolor=colour, size=6),
    )


def _unit_axis(figure: go.Figure, title: str) -> None:
    figure.update_yaxes(title_text=title, range=[0, 1.12], tickvals=[0, 0.25, 0.5, 0.75, 1])


def _thinned(ticks: list[str], kept: set[int]) -> list[str]:
    """Every tick for a few layers, every fourth and the selected ones for many."""
    if len(ticks) <= 16:
        return ticks
    return [t if i in kept or (i + 1) % 4 == 0 or i == 0 else "" for i, t in enumerate(ticks)]


def _styled(figure: go.Figure, title: str, equation: str, height: int = 430) -> go.Figure:
    """The look that all figures share. A legend stands between the title and the plot."""
    legend = sum(bool(trace.name) and trace.showlegend is not False for trace in figure.data) > 1
    figure.update_layout(
        template="none",
        title=dict(
            text=f"<b>{title}</b><br><span style='font-size:16px'>{equation}</span>",
            font_size=20,
            x=0,
            xref="container",
            xanchor="left",
            y=1,
            yref="container",
            yanchor="top",
            pad=dict(l=2, t=24),
        ),
        font=_FONT,
        height=height,
        margin=dict(l=64, r=12, t=116 if legend else 84, b=56),
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        bargap=0.25,
        bargroupgap=0.08,
        showlegend=legend,
        legend=dict(
            orientation="h",
            x=0,
            y=1.01,
            yanchor="bottom",
            font_size=15,
            itemclick=False,
            itemdoubleclick=False,
        ),
        hoverlabel_font_size=15,
    )
    axes = dict(gridcolor=_GRID, linecolor=_GRID, zeroline=False, fixedrange=True, title_font_size=15)
    figure.update_xaxes(**axes, tickfont_size=15)
    figure.update_yaxes(**axes, tickfont_size=14)
    return figure
