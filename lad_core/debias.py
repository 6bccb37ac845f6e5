"""From an observation and a calibration to the debiased answer (Eq. 8-14), every step kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from lad_core.calibration import VARIANTS, Calibration, safe_log
from lad_core.observation import Observation, log_softmax


@dataclass(frozen=True)
class Settings:
    """What a person may choose.

    Attributes:
        top_k: K, how many layers are selected; all of the range if it holds fewer.
        temperature: tau, at least 0: how sharply the posterior prefers the most looked-at image.
        layers: indices from 0 of the layers to choose from; ``None`` means all.
        variant: ``"paper"``, ``"released"`` or ``"ranked"`` (see :class:`~lad_core.Calibration`).

    Raises:
        ValueError: names the field.
    """

    top_k: int = 2
    temperature: float = 5.0
    layers: Iterable[int] | None = None
    variant: str = "paper"

    def __post_init__(self) -> None:
        if self.layers is not None:
            layers = tuple(sorted({int(layer) for layer in self.layers}))
            if not layers or layers[0] < 0:
                raise ValueError("layers must name at least one layer, counted from 0.")
            object.__setattr__(self, "layers", layers)
        if not (self.top_k >= 1 and float(self.top_k).is_integer()):
            raise ValueError(f"top_k must be a whole number from 1 on, not {self.top_k}.")
        object.__setattr__(self, "top_k", int(self.top_k))
        if not (np.isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"temperature must be a number from 0 on, not {self.temperature}.")
        if self.variant not in VARIANTS:
            raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, not {self.variant!r}.")

    def layer_range(self, n_layers: int) -> tuple[int, ...]:
        """The layers to choose from in a model of ``n_layers``."""
        return tuple(l for l in (self.layers or range(n_layers)) if l < n_layers)  # noqa: E741


@dataclass(frozen=True, eq=False)
class Debiased:
    """The answer and everything that led to it; arrays over N are by seat.

    Attributes:
        strength: (L,) S^(l) = sum over k of a_k^(l) (Eq. 8).
        selected_layers: the K chosen layers L*, ascending (Eq. 9; variant "ranked": by the calibration's
            layer accuracy).
        purified: (L, N) log a - log a_prior of every layer (Eq. 10).
        layer_posterior: (L, N) softmax(tau * purified) of every layer alone.
        posterior: (N,) pi, the purified visual posterior (Eq. 11-12).
        log_prior: (N,) log P_prior, the estimated dynamic prior (Eq. 13); released: the mixed biases.
        log_p_vis: (N,) log P_vis = log P_obs - log P_prior, normalised (Eq. 14).
        scores: (N,) the same before it is normalised; released: raw scores - mixed biases.
        vanilla, looked_at, prediction: seats of the largest P_obs, pi and P_vis; ties go to the lower one.
        warnings: the calibration's.
    """

    observation: Observation
    calibration: Calibration
    settings: Settings
    strength: np.ndarray
    selected_layers: tuple[int, ...]
    purified: np.ndarray
    layer_posterior: np.ndarray
    posterior: np.ndarray
    log_prior: np.ndarray
    log_p_vis: np.ndarray
    scores: np.ndarray
    warnings: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        return self.observation.n

    @property
    def vanilla(self) -> int:
        return int(self.observation.log_probs.argmax())

    @property
    def looked_at(self) -> int:
        return int(self.posterior.argmax())

    @property
    def prediction(self) -> int:
        return int(self.scores.argmax())


def strength(attention: np.ndarray) -> np.ndarray:
    """S^(l), (L,), of attention (L, N) (Eq. 8)."""
    return attention.sum(axis=1)


def select_layers(
    attention: np.ndarray, settings: Settings, calibration: Calibration | None = None
) -> tuple[int, ...]:
    """The K layers of the range with the largest S (Eq. 9), ascending; ties go to the lower index.

    Variant ``"ranked"``: those that best find the target on the calibration set, by ``layer_accuracy``, then
    by ``layer_margin``.

    Raises:
        ValueError: no layer of the range exists in the model.
    """
    layers = settings.layer_range(len(attention))
    if not layers:
        raise ValueError(f"layers must name layers from 0 to {len(attention) - 1}; none of these does.")
    if settings.variant == "ranked" and calibration is not None:
        worth = list(zip(calibration.layer_accuracy, calibration.layer_margin, strict=True))
    else:
        worth = list(strength(attention))
    return tuple(sorted(sorted(layers, key=lambda layer: worth[layer], reverse=True)[: settings.top_k]))


def debias(observation: Observation, calibration: Calibration, settings: Settings | None = None) -> Debiased:
    """Undo position bias in one observation (Eq. 8-14).

    Raises:
        ValueError: the calibration belongs to another setup, N or number of layers; no layer left in range.
    """
    settings = settings or Settings()
    check_fits(observation, calibration)
    calibration = calibration.with_variant(settings.variant)
    attention = observation.attention
    chosen = list(select_layers(attention, settings, calibration))
    log_prior_attention = safe_log(calibration.attention_prior)
    purified = safe_log(attention) - log_prior_attention  # (L, N)
    if settings.variant == "released":
        evidence = safe_log(attention[chosen].mean(axis=0)) - log_prior_attention[chosen].mean(axis=0)
    else:
        evidence = purified[chosen].mean(axis=0)  # Eq. 11
    log_posterior = log_softmax(settings.temperature * evidence)  # Eq. 12
    posterior = np.exp(log_posterior)
    if settings.variant == "released":
        log_prior = posterior @ calibration.log_p_bias
        scores = observation.scores - log_prior
    else:
        log_prior = np.logaddexp.reduce(log_posterior[:, None] + calibration.log_p_bias, axis=0)  # Eq. 13
        scores = observation.log_probs - log_prior  # Eq. 14
    return Debiased(
        observation=observation,
        calibration=calibration,
        settings=settings,
        strength=strength(attention),
        selected_layers=tuple(chosen),
        purified=purified,
        layer_posterior=np.exp(log_softmax(settings.temperature * purified)),
        posterior=posterior,
        log_prior=log_prior,
        log_p_vis=log_softmax(scores),
        scores=scores,
        warnings=calibration.warnings,
    )


def check_fits(observation: Observation, calibration: Calibration) -> None:
    """Raises ``ValueError`` unless the calibration was made for what the observation shows."""
    if observation.attention.shape != calibration.attention_prior.shape:
        here, there = observation.attention.shape, calibration.attention_prior.shape
        raise ValueError(
            f"calibration is for {there[1]} images and {there[0]} layers; "
            f"the observation has {here[1]} and {here[0]}."
        )
    if observation.setup is not None and calibration.setup is not None:
        difference = observation.setup.difference(calibration.setup)
        if difference:
            raise ValueError(f"calibration belongs to another setup: they differ in {difference}.")
