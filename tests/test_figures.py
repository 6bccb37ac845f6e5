"""The figures show the numbers they are given, by seat, with axis names and the equation that they draw."""

import numpy as np
import pytest
from made_results import LAYERS, make

from lad_core import figures
from lad_core.calibration import estimate_calibration
from lad_core.debias import debias
from lad_core.observation import Observation


def bars(figure):
    return [trace for trace in figure.data if trace.type == "bar"]


@pytest.mark.parametrize("n", [2, 8, 12])
def test_subtraction_draws_its_three_terms_on_one_axis(n):
    result = make(n)
    figure = figures.subtraction(result)
    said, habit, seen = bars(figure)
    for trace, values in (
        (said, result.observation.log_probs),
        (habit, result.log_prior),
        (seen, result.log_p_vis),
    ):
        np.testing.assert_allclose(np.add(trace.y, trace.base), values, atol=1e-12)
    assert {tuple(axis.range) for axis in figure.select_yaxes()} == {tuple(figure.layout.yaxis.range)}
    assert [axis.title.text[:2] for axis in figure.select_yaxes()] == ["lo", "− ", "= "]


def test_subtraction_of_the_released_variant_draws_its_scores():
    result = make(6, variant="released")
    said, habit, difference = bars(figures.subtraction(result))
    values = [np.add(trace.y, trace.base) for trace in (said, habit, difference)]
    np.testing.assert_allclose(values[0] - values[1], values[2], atol=1e-9)
    np.testing.assert_allclose(values[2], result.scores, atol=1e-9)


def test_a_hopeless_seat_does_not_flatten_the_others():
    n = 4
    observation = Observation(
        log_probs=np.array([0.0, -2.0, -3.0, -600.0]), attention=np.full((LAYERS, n), 0.1)
    )
    target = np.tile(np.arange(n), 5)
    calibration = estimate_calibration(
        np.full((5 * n, n), -np.log(n)), np.full((5 * n, LAYERS, n), 0.1), target
    )
    said = bars(figures.subtraction(debias(observation, calibration)))[0]
    assert said.y[3] == 0
    assert said.y[0] - said.y[1] == pytest.approx(2, abs=0.1)
    assert said.text[3] in ("−600.0", "−600.1", "−600.2")


def test_attention_shows_raw_usual_and_purified_as_shares():
    result = make(8)
    raw, usual, purified = bars(figures.attention(result))
    np.testing.assert_allclose(purified.y, result.posterior)
    assert sum(raw.y) == pytest.approx(1)
    assert sum(usual.y) == pytest.approx(1)
    chosen = result.observation.attention[list(result.selected_layers)].mean(0)
    np.testing.assert_allclose(raw.y, chosen / chosen.sum())


def test_attention_without_a_calibration_promises_no_posterior():
    figure = figures.attention(make(8).observation)
    assert len(bars(figure)) == 1
    assert "π" not in str(figure.to_dict())


@pytest.mark.parametrize("variant", ["paper", "released"])
def test_prior_is_drawn_beside_what_was_said(variant):
    result = make(5, variant)
    habit, said = bars(figures.prior(result))
    assert sum(habit.y) == pytest.approx(1)
    assert np.argmax(habit.y) == np.argmax(result.log_prior)
    np.testing.assert_allclose(said.y, np.exp(result.observation.log_probs))


@pytest.mark.parametrize("purified", [True, False])
def test_layers_marks_the_selected_ones(purified):
    result = make(8)
    figure = figures.layers(result, purified)
    heatmap = next(trace for trace in figure.data if trace.type == "heatmap")
    np.testing.assert_allclose(heatmap.z, result.purified if purified else result.observation.attention)
    framed = sorted(round((shape.y0 + shape.y1) / 2) - 1 for shape in figure.layout.shapes)
    assert framed == list(result.selected_layers)
    marked = [i for i, tick in enumerate(figure.layout.yaxis.ticktext) if "▸" in tick]
    assert marked == list(result.selected_layers)
    np.testing.assert_allclose(bars(figure)[0].x, result.strength)
    accuracy = next(trace for trace in figure.data if trace.type == "scatter")
    np.testing.assert_allclose(accuracy.x, result.calibration.layer_accuracy)


def test_layers_of_a_bare_observation_shows_raw_attention_and_marks_none():
    figure = figures.layers(make(8).observation)
    assert not figure.layout.shapes
    assert figure.data[0].zmin == 0


@pytest.mark.parametrize(
    ("name", "n"), [(name, n) for name in ("subtraction", "attention", "prior", "layers") for n in (2, 12)]
)
def test_every_figure_names_its_axes_and_its_equation_in_readable_type(name, n):
    figure = getattr(figures, name)(make(n))
    assert figure.layout.title.text
    assert all(axis.title.text for axis in figure.select_yaxes() if axis.matches is None)
    assert any(axis.title.text == "seat" for axis in figure.select_xaxes())
    sizes = [axis.tickfont.size for axis in (*figure.select_xaxes(), *figure.select_yaxes())]
    assert min([*sizes, figure.layout.font.size]) >= 14
    assert "=" in figure.layout.title.text
    assert figure.layout.paper_bgcolor == "rgba(0, 0, 0, 0)"


def test_seats_go_by_their_identifiers():
    figure = figures.prior(make(4, identifiers="letters"))
    assert list(figure.data[0].x) == ["A", "B", "C", "D"]


def test_heatmaps_share_one_scale_and_follow_the_patches():
    result = make(6)
    maps = figures.heatmaps(result, layers=[1], purified=False)
    assert [m.shape for m in maps] == [p.shape[1:] for p in result.observation.patch_attention]
    assert max(m.max() for m in maps) == 1
    for m, patches in zip(maps, result.observation.patch_attention, strict=True):
        np.testing.assert_allclose(m / m.max(), patches[1] / patches[1].max())


def test_purified_heatmaps_divide_by_what_the_seat_usually_gets():
    result = make(6)
    raw = figures.heatmaps(result, layers=[2], purified=False)
    purified = figures.heatmaps(result, layers=[2], purified=True)
    ratio = np.array([p.max() / r.max() for p, r in zip(purified, raw, strict=True)])
    expected = 1 / result.calibration.attention_prior[2]
    np.testing.assert_allclose(ratio / ratio.sum(), expected / expected.sum())


def test_heatmaps_default_to_the_selected_layers():
    result = make(6)
    for given, chosen in zip(
        figures.heatmaps(result), figures.heatmaps(result, list(result.selected_layers)), strict=True
    ):
        np.testing.assert_array_equal(given, chosen)


def test_without_patches_there_are_no_heatmaps():
    assert figures.heatmaps(Observation(log_probs=np.zeros(3), attention=np.ones((2, 3)))) == ()
