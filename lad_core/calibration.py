"""Calibration: what a model answers, and where it looks, when the target sits at each seat (Eq. 1-7).

The calibration set holds a few labelled cases, each rotated through all its N seats, so that the target
visits every seat equally often. A :class:`Calibration` keeps that evidence and the estimates made from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from lad_core.case import Case
from lad_core.observation import Observation, Setup, check_attention, check_log_probs, log_softmax

VARIANTS = ("paper", "released", "ranked")
FORMAT = "lad-calibration"
VERSION = 1
#: Stands in for a probability or an attention of zero, whose logarithm is not defined.
TINY = 1e-30
NO_GAIN = "In the calibration the target's own seat is never preferred, so its evidence gain stays 1 (Eq. 4)."


@dataclass(frozen=True, eq=False)
class Calibration:
    """The evidence of M observed passes over N seats and L layers, and the estimates of one variant.

    Attributes:
        log_probs: (M, N) log P_obs of each pass.
        attention: (M, L, N) a_k^(l) of each pass.
        target: (M,) target seat of each pass, from 0.
        scores: (M, N) raw scores of each pass (see ``Observation.scores``).
        variant: ``"paper"``, ``"released"`` (the released code's arithmetic) or ``"ranked"`` (the paper's,
            with layers chosen by ``layer_accuracy`` in place of the strength S).
        log_p_obs: (N, N) row = target seat, column = answered seat: log of the mean probability (Eq. 1);
            released: mean of the raw scores.
        log_gain: log of the evidence gain, at least 0 (Eq. 4).
        log_p_bias: (N, N) log P_bias(j | i), rows normalised (Eq. 3, 5); released: the bias matrix B.
        attention_prior: (L, N) mean attention (Eq. 7).
        layer_accuracy: (L,) share of the passes in which this layer's purified attention alone, log a - log
            prior, is largest at the target.
        layer_margin: (L,) mean over the passes of the log of the softmax of that, at the target.
        pride_log_prior: (N,) PriDe's prior (see :func:`pride_log_prior`); released: column mean of B.
        warnings: sentences on what is wrong with this calibration.
        setup: what an observation has to share with it.
    """

    log_probs: np.ndarray
    attention: np.ndarray
    target: np.ndarray
    scores: np.ndarray
    variant: str
    log_p_obs: np.ndarray
    log_gain: float
    log_p_bias: np.ndarray
    attention_prior: np.ndarray
    layer_accuracy: np.ndarray
    layer_margin: np.ndarray
    pride_log_prior: np.ndarray
    warnings: tuple[str, ...] = ()
    setup: Setup | None = None

    @property
    def n(self) -> int:
        return self.log_probs.shape[1]

    @property
    def n_layers(self) -> int:
        return self.attention.shape[1]

    def with_variant(self, variant: str) -> Calibration:
        """The same evidence, estimated the other way."""
        if variant == self.variant:
            return self
        return estimate_calibration(
            self.log_probs, self.attention, self.target, scores=self.scores, variant=variant, setup=self.setup
        )

    def save(self, path: str | Path) -> None:
        """Write the evidence as JSON; the estimates are made again by :meth:`load`."""
        # -inf, a probability of zero, is no JSON number: written as null.
        content = {
            "format": FORMAT,
            "version": VERSION,
            "variant": self.variant,
            "setup": asdict(self.setup) if self.setup else None,
            "target": self.target.tolist(),
            "log_probs": _finite_or_none(self.log_probs),
            "scores": _finite_or_none(self.scores),
            "attention": self.attention.tolist(),
        }
        Path(path).write_text(json.dumps(content, allow_nan=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Read what :meth:`save` wrote.

        Raises:
            ValueError: the file is missing, is no calibration, or is of another version.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise ValueError(f"There is no calibration file {path}.") from error
        except (OSError, ValueError) as error:
            raise ValueError(f"{path} is no calibration file.") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"{path} is no calibration file.")
        if content.get("version") != VERSION:
            raise ValueError(
                f"{path} is a calibration of version {content.get('version')}; this program reads {VERSION}."
            )
        try:
            return estimate_calibration(
                _none_to_zero_probability(content["log_probs"]),
                content["attention"],
                content["target"],
                scores=_none_to_zero_probability(content["scores"]),
                variant=content["variant"],
                setup=Setup(**content["setup"]) if content["setup"] else None,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is a damaged calibration file: {error}") from error


def estimate_calibration(
    log_probs: np.ndarray,
    attention: np.ndarray,
    target: np.ndarray,
    *,
    scores: np.ndarray | None = None,
    variant: str = "paper",
    setup: Setup | None = None,
) -> Calibration:
    """Estimate bias, gain and attention prior from M passes (Eq. 1-7).

    Args:
        log_probs: (M, N) log-probabilities of the N candidates.
        attention: (M, L, N) last-query attention on each image.
        target: (M,) target seats from 0; every seat must occur.
        scores: (M, N) raw scores, for the released variant; ``log_probs`` if not given.
        variant: ``"paper"``, ``"released"`` or ``"ranked"``.
        setup: what the passes have in common.

    Raises:
        ValueError: shapes or values that do not fit, a seat that the target never visits, or an unknown
            ``variant``; names the argument.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, not {variant!r}.")
    log_probs = log_softmax(check_log_probs("log_probs", log_probs, ndim=2))
    count, n = log_probs.shape
    attention = check_attention("attention", attention, ndim=3, n=n)
    target = np.asarray(target)
    scores = log_probs if scores is None else check_log_probs("scores", scores, ndim=2)
    if len(attention) != count:
        raise ValueError(
            f"attention must have one entry for each of the {count} passes, not {len(attention)}."
        )
    if scores.shape != log_probs.shape:
        raise ValueError(f"scores must have the shape {log_probs.shape}, not {scores.shape}.")
    if target.shape != (count,) or not np.issubdtype(target.dtype, np.integer):
        raise ValueError(f"target must hold one whole number for each of the {count} passes.")
    if set(target.tolist()) != set(range(n)):
        raise ValueError(f"target must visit every seat from 0 to {n - 1}, and no other.")
    if variant == "released":
        log_p_obs, log_gain, log_p_bias = _released_bias(scores, target)
    else:
        log_p_obs, log_gain, log_p_bias = _paper_bias(log_probs, target)
    prior = attention.mean(axis=0)  # (L, N), Eq. 7
    purified = log_softmax(safe_log(attention) - safe_log(prior))  # (M, L, N)
    at_target = np.take_along_axis(purified, target[:, None, None], axis=2)[:, :, 0]  # (M, L)
    return Calibration(
        log_probs=log_probs,
        attention=attention,
        target=target,
        scores=scores,
        variant=variant,
        log_p_obs=log_p_obs,
        log_gain=log_gain,
        log_p_bias=log_p_bias,
        attention_prior=prior,
        layer_accuracy=(purified.argmax(axis=2) == target[:, None]).mean(axis=0),
        layer_margin=at_target.mean(axis=0),
        pride_log_prior=log_p_bias.mean(axis=0) if variant == "released" else pride_log_prior(log_probs),
        warnings=() if log_gain > 0 else (NO_GAIN,),
        setup=setup,
    )


class Observer(Protocol):
    """What calibration needs of a model."""

    def setup(self, n: int, identifiers: str) -> Setup: ...

    def observe_many(
        self,
        cases: Sequence[Case],
        *,
        identifiers: str,
        progress: Callable[[int, int], None] | None,
    ) -> list[Observation]: ...


def calibrate(
    model: Observer,
    cases: Sequence[Case],
    *,
    identifiers: str = "numbers",
    variant: str = "paper",
    progress: Callable[[int, int], None] | None = None,
) -> Calibration:
    """Observe each labelled case in all N rotations and estimate.

    Raises:
        ValueError: no cases, a case without a target, or cases of different N.
    """
    if not cases:
        raise ValueError("cases must hold at least one labelled case to calibrate on.")
    if any(case.target is None for case in cases):
        raise ValueError("cases must all be labelled: say of each which image is right.")
    n = cases[0].n
    if any(case.n != n for case in cases):
        raise ValueError("cases must all have the same number of images.")
    rotated = [case.rotated(k) for case in cases for k in range(n)]
    observations = model.observe_many(rotated, identifiers=identifiers, progress=progress)
    calibration = estimate_calibration(
        np.stack([o.log_probs for o in observations]),
        np.stack([o.attention for o in observations]),
        np.array([case.target_seat for case in rotated]),
        scores=np.stack([o.scores for o in observations]),
        variant=variant,
    )
    return replace(calibration, setup=model.setup(n, identifiers))


def pride_log_prior(log_probs: np.ndarray) -> np.ndarray:
    """PriDe's global prior (Zheng et al. 2023): softmax of the mean log-probability over the permutations.

    Args:
        log_probs: (M, N) of passes in which the content visits every seat equally often.

    Returns:
        (N,) log-probabilities.
    """
    return log_softmax(_floored(check_log_probs("log_probs", log_probs, ndim=2)).mean(axis=0))


def safe_log(values: np.ndarray) -> np.ndarray:
    """Logarithm with zeros replaced by :data:`TINY`."""
    return np.log(np.maximum(values, TINY))


def _floored(scores: np.ndarray) -> np.ndarray:
    """Scores of -inf raised to :data:`TINY` of the pass's best candidate, or to the lowest below that."""
    finite = np.isfinite(scores)
    lowest = np.where(finite, scores, np.inf).min(axis=1, keepdims=True)
    return np.where(finite, scores, np.minimum(lowest, scores.max(axis=1, keepdims=True) + np.log(TINY)))


def _paper_bias(log_probs: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    n = log_probs.shape[1]
    mean = np.stack([np.exp(log_probs[target == seat]).mean(axis=0) for seat in range(n)])
    log_p_obs = safe_log(mean)  # (N, N), Eq. 1
    log_gain = _largest_margin(log_p_obs)  # Eq. 4
    return log_p_obs, log_gain, log_softmax(log_p_obs - log_gain * np.eye(n))  # Eq. 3, 5


def _released_bias(scores: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """The released code subtracts an "ideal" matrix: b off the diagonal, b + g on it, b = mean - g / N."""
    n = scores.shape[1]
    scores = _floored(scores)
    mean = np.stack([scores[target == seat].mean(axis=0) for seat in range(n)])  # (N, N)
    gain = _largest_margin(mean)
    return mean, gain, mean - (mean.mean() - gain / n) - gain * np.eye(n)


def _largest_margin(scores: np.ndarray) -> float:
    """Largest of scores[i, i] - scores[i, j] over i and j; j = i keeps it from falling below 0."""
    return float((scores.diagonal()[:, None] - scores).max())


def _finite_or_none(values: np.ndarray) -> list[list[float | None]]:
    return [[float(v) if np.isfinite(v) else None for v in row] for row in values]


def _none_to_zero_probability(rows: list[list[float | None]]) -> np.ndarray:
    return np.array([[-np.inf if v is None else v for v in row] for row in rows])
