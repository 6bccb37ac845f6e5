"""What must hold whatever the numbers are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lad_core import Calibration, Observation, Settings, debias, estimate_calibration
from lad_core.debias import VARIANTS
from lad_core.methods import METHODS
from lad_core.observation import Setup

variants = st.sampled_from(VARIANTS)


def made(seed: int, n: int, layers: int = 5, rounds: int = 3):
    """Random evidence (in which the target's seat is preferred) and one observation."""
    rng = np.random.default_rng(seed)
    target = np.tile(np.arange(n), rounds)
    scores = rng.normal(0, 2, (len(target), n))
    scores[np.arange(len(target)), target] += 1
    attention = rng.gamma(0.5, 0.1, (len(target), layers, n))
    observed = {"log_probs": rng.normal(0, 2, n), "attention": rng.gamma(0.5, 0.1, (layers, n))}
    return {"log_probs": scores, "attention": attention, "target": target, "scores": scores}, observed


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 9999), st.integers(2, 12), variants)
def test_permuting_seats_permutes_every_result(seed, n, variant):
    evidence, observed = made(seed, n)
    p = np.random.default_rng(seed + 1).permutation(n)  # the new seat s takes whoever sat at p[s]
    to = np.argsort(p)
    moved_evidence = {
        "log_probs": evidence["log_probs"][:, p],
        "scores": evidence["scores"][:, p],
        "attention": evidence["attention"][:, :, p],
        "target": to[evidence["target"]],
    }
    moved_observed = {"log_probs": observed["log_probs"][p], "attention": observed["attention"][:, p]}
    chosen = Settings(top_k=2, temperature=3.0, variant=variant)
    before = debias(Observation(**observed), estimate_calibration(**evidence), chosen)
    after = debias(Observation(**moved_observed), estimate_calibration(**moved_evidence), chosen)
    assert after.selected_layers == before.selected_layers
    for name in ("posterior", "log_prior", "log_p_vis", "scores"):
        np.testing.assert_allclose(getattr(after, name), getattr(before, name)[p], atol=1e-9)
    for name in ("vanilla", "looked_at", "prediction"):
        assert p[getattr(after, name)] == getattr(before, name)
    for method in ("vanilla", "attention", "purified", "pride", "debiased"):
        decide = METHODS[method].decide
        seats = [decide([r.observation], [tuple(range(n))], r.calibration, chosen) for r in (before, after)]
        assert p[seats[1]] == seats[0], method


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 9999), st.integers(2, 12), variants, st.floats(0, 50))
def test_probabilities_sum_to_one(seed, n, variant, temperature):
    evidence, observed = made(seed, n)
    calibration = estimate_calibration(**evidence, variant=variant)
    result = debias(Observation(**observed), calibration, Settings(temperature=temperature, variant=variant))
    for values in (result.posterior, np.exp(result.log_p_vis), np.exp(result.observation.log_probs)):
        assert values.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(result.layer_posterior.sum(axis=1), 1, atol=1e-12)
    if variant != "released":
        assert np.exp(result.log_prior).sum() == pytest.approx(1, abs=1e-12)
        np.testing.assert_allclose(np.exp(calibration.log_p_bias).sum(axis=1), 1, atol=1e-12)
    assert calibration.log_gain >= 0


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 9999), st.integers(2, 12), variants, st.floats(-50, 50))
def test_a_constant_on_the_scores_changes_nothing(seed, n, variant, constant):
    evidence, observed = made(seed, n)
    moved = evidence | {
        "log_probs": evidence["log_probs"] + constant,
        "scores": evidence["scores"] + constant,
    }
    chosen = Settings(variant=variant)
    before = debias(Observation(**observed), estimate_calibration(**evidence), chosen)
    shifted = Observation(observed["log_probs"] + constant, observed["attention"])
    after = debias(shifted, estimate_calibration(**moved), chosen)
    np.testing.assert_allclose(after.log_p_vis, before.log_p_vis, atol=1e-8)
    np.testing.assert_allclose(after.posterior, before.posterior, atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 9999), variants)
def test_extremes_give_defined_values(seed, variant):
    """Zero attention, probabilities of zero, N = 2, K above the number of layers."""
    rng = np.random.default_rng(seed)
    evidence, observed = made(seed, 2)
    evidence["attention"][rng.random(evidence["attention"].shape) < 0.4] = 0
    observed["attention"][rng.random(observed["attention"].shape) < 0.4] = 0
    evidence["log_probs"][0] = evidence["scores"][0] = [0, -np.inf]
    observed["log_probs"][1] = -np.inf
    result = debias(
        Observation(**observed), estimate_calibration(**evidence), Settings(top_k=99, variant=variant)
    )
    assert result.selected_layers == tuple(range(5))
    for values in (result.posterior, result.log_prior, result.purified, result.calibration.log_p_bias):
        assert np.isfinite(values).all()
    assert result.prediction == 0
    assert np.exp(result.log_p_vis).tolist() == [1, 0]


def test_a_target_that_is_never_preferred_is_said():
    evidence, observed = made(0, 4)
    n = 4
    away = np.full((len(evidence["target"]), n), 0.0)
    away[np.arange(len(away)), evidence["target"]] = -3
    calibration = estimate_calibration(away, evidence["attention"], evidence["target"])
    assert calibration.log_gain == 0
    result = debias(Observation(**observed), calibration)
    assert any("never preferred" in warning for warning in result.warnings)


def test_ranked_takes_the_layers_that_find_the_target():
    evidence, observed = made(1, 4, layers=6)
    rows = np.arange(len(evidence["target"]))
    evidence["attention"][:, 0] += 5  # strong everywhere: the largest S
    observed["attention"][0] += 5
    evidence["attention"][rows, 3, evidence["target"]] += 9  # finds the target, always
    calibration = estimate_calibration(**evidence)
    assert calibration.layer_accuracy[3] == 1
    assert debias(Observation(**observed), calibration, Settings(top_k=1)).selected_layers == (0,)
    ranked = Settings(top_k=1, variant="ranked")
    assert debias(Observation(**observed), calibration, ranked).selected_layers == (3,)


def test_layer_accuracy_is_that_of_purified_attention():
    """Layer 0 always looks most at seat 1, and only its change tells the target; layer 1 looks nowhere else."""
    target = np.arange(3)
    attention = np.full((3, 2, 3), 0.1)
    attention[:, 0] = [0.9, 0.1, 0.1]
    attention[target, 0, target] *= 1.5
    assert (attention[:, 0].argmax(axis=1) == target).mean() == pytest.approx(1 / 3)
    calibration = estimate_calibration(np.zeros((3, 3)), attention, target)
    assert calibration.layer_accuracy.tolist() == [1, 1 / 3]


def test_layers_of_equal_accuracy_go_by_their_margin():
    target = np.arange(3)
    attention = np.full((3, 3, 3), 0.1)
    for layer, more in enumerate((1.5, 3.0, 2.0)):
        attention[target, layer, target] *= more
    calibration = estimate_calibration(np.zeros((3, 3)), attention, target)
    assert calibration.layer_accuracy.tolist() == [1, 1, 1]
    one = Observation(np.zeros(3), attention[0])
    chosen = [debias(one, calibration, Settings(top_k=k, variant="ranked")).selected_layers for k in (1, 2)]
    assert chosen == [(1,), (1, 2)]


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 9999), st.integers(2, 12), st.sampled_from(("paper", "ranked")))
def test_no_bias_leaves_the_answer_alone(seed, n, variant):
    """Where calibration shows no habit, P_prior is even and P_vis is P_obs."""
    evidence, observed = made(seed, n)
    evidence["log_probs"] = np.zeros_like(evidence["log_probs"])
    result = debias(Observation(**observed), estimate_calibration(**evidence), Settings(variant=variant))
    np.testing.assert_allclose(result.log_prior, -np.log(n), atol=1e-12)
    np.testing.assert_allclose(result.log_p_vis, result.observation.log_probs, atol=1e-12)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 9999), st.integers(2, 12), st.floats(0.1, 20), st.floats(0.01, 100))
def test_the_usual_attention_says_nothing(seed, n, temperature, times):
    """A multiple of the prior is no evidence: pi is even."""
    evidence, observed = made(seed, n)
    calibration = estimate_calibration(**evidence)
    usual = Observation(observed["log_probs"], times * calibration.attention_prior)
    result = debias(usual, calibration, Settings(temperature=temperature))
    np.testing.assert_allclose(result.posterior, 1 / n, atol=1e-9)


def test_equal_strength_goes_to_the_lower_layer():
    evidence, observed = made(2, 3)
    observed["attention"][:] = 0.1
    result = debias(Observation(**observed), estimate_calibration(**evidence), Settings(top_k=2))
    assert result.selected_layers == (0, 1)


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_selected_layer_is_the_posterior(variant):
    evidence, observed = made(9, 5)
    result = debias(
        Observation(**observed), estimate_calibration(**evidence), Settings(top_k=1, variant=variant)
    )
    np.testing.assert_allclose(
        result.layer_posterior[result.selected_layers[0]], result.posterior, atol=1e-12
    )


def test_a_layer_range_is_kept():
    evidence, observed = made(3, 3)
    observed["attention"][0] = 10
    chosen = Settings(top_k=1, layers=range(3, 99))
    assert debias(Observation(**observed), estimate_calibration(**evidence), chosen).selected_layers[0] >= 3


def test_calibrations_are_saved_whole(tmp_path):
    evidence, _ = made(4, 5)
    evidence["log_probs"][0, 1] = -np.inf
    setup = Setup("scene-vlm", 5, "letters", 64)
    saved = estimate_calibration(**evidence, variant="ranked", setup=setup)
    saved.save(tmp_path / "c.json")
    loaded = Calibration.load(tmp_path / "c.json")
    assert (loaded.variant, loaded.setup) == ("ranked", setup)
    for name in ("log_probs", "attention", "log_p_obs", "log_p_bias", "attention_prior", "layer_accuracy"):
        np.testing.assert_allclose(getattr(loaded, name), getattr(saved, name), rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "no calibration file"),
        ('{"format": "other"}', "no calibration file"),
        ('{"format": "lad-calibration", "version": 9}', "version 9; this program reads 1"),
        ('{"format": "lad-calibration", "version": 1}', "damaged"),
        (
            '{"format": "lad-calibration", "version": 1, "variant": "paper", "setup": null, "target": [0, 1],'
            ' "log_probs": [[0, 0], [0]], "scores": [[0, 0], [0, 0]], "attention": [[[1, 1]], [[1, 1]]]}',
            "damaged",
        ),
    ],
)
def test_files_that_are_no_calibration(text, says, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=says):
        Calibration.load(path)


def test_another_setup_is_refused_by_name():
    evidence, observed = made(5, 3)
    calibration = estimate_calibration(**evidence, setup=Setup("scene-vlm", 3))
    other = Observation(**observed, setup=Setup("scene-vlm", 3, "letters"))
    with pytest.raises(ValueError, match=r"identifiers \(letters against numbers\)"):
        debias(other, calibration)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"log_probs": np.zeros(12)}, "log_probs must"),
        ({"attention": np.zeros((12, 5, 3))}, "attention must"),
        ({"attention": -np.ones((12, 5, 4))}, "attention must"),
        ({"attention": np.full((12, 5, 4), np.nan)}, "attention must"),
        ({"target": np.zeros(12, dtype=int)}, "target must visit every seat"),
        ({"target": np.zeros(3, dtype=int)}, "target must hold"),
        ({"scores": np.zeros((3, 4))}, "scores must"),
        ({"scores": np.full((12, 4), np.nan)}, "scores must"),
        ({"variant": "mine"}, "variant must be one of"),
        ({"log_probs": np.full((12, 4), -np.inf)}, "log_probs must"),
    ],
)
def test_bad_evidence_names_the_argument(changes, says):
    evidence, _ = made(6, 4)
    with pytest.raises(ValueError, match=says):
        estimate_calibration(**(evidence | changes))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"top_k": 0}, "top_k"),
        ({"top_k": 1.5}, "top_k"),
        ({"top_k": float("inf")}, "top_k"),
        ({"temperature": -1.0}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"layers": ()}, "layers"),
        ({"layers": (-1,)}, "layers"),
        ({"variant": "mine"}, "variant"),
    ],
)
def test_bad_settings_name_the_field(changes, says):
    with pytest.raises(ValueError, match=says):
        Settings(**changes)


def test_no_layer_left_in_range():
    evidence, observed = made(7, 3)
    with pytest.raises(ValueError, match="layers must name layers from 0 to 4"):
        debias(Observation(**observed), estimate_calibration(**evidence), Settings(layers=range(9, 12)))


def test_the_number_of_images_must_agree():
    evidence, _ = made(8, 3)
    _, observed = made(8, 4)
    with pytest.raises(ValueError, match="calibration is for 3 images and 5 layers"):
        debias(Observation(**observed), estimate_calibration(**evidence))
