"""Identifiers -> token trie -> joint log-probabilities (Eq. 15-16, for any tokenizer).

At each step the logits are normalised over the tokens that can continue some candidate from there, the
end-of-answer token included where a candidate may stop ("1" against "10"). So all probabilities sum to 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lad_core.observation import log_softmax

Prefix = tuple[int, ...]


@dataclass(frozen=True)
class CandidateTrie:
    """The candidates' token sequences, and the token that ends an answer.

    Raises:
        ValueError: an empty sequence, one that holds the end token, or two with the same tokens.
    """

    sequences: Sequence[Prefix]
    end: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "sequences", tuple(tuple(int(t) for t in s) for s in self.sequences))
        if not self.sequences or not all(self.sequences):
            raise ValueError("sequences must not be empty: an identifier has no token in this tokenizer.")
        if any(self.end in sequence for sequence in self.sequences):
            raise ValueError(f"sequences must not hold the end token {self.end}.")
        if len(set(self.sequences)) < len(self.sequences):
            raise ValueError("sequences must differ: this tokenizer gives two identifiers the same tokens.")

    @property
    def single_token(self) -> bool:
        """Whether each candidate is one token, so that the prompt's own logits decide."""
        return all(len(sequence) == 1 for sequence in self.sequences)

    def continuations(self, prefix: Prefix) -> tuple[int, ...]:
        """The tokens with which some candidate goes on after ``prefix``, ascending."""
        size = len(prefix)
        return tuple(sorted({(*s, self.end)[size] for s in self.sequences if s[:size] == prefix}))

    @property
    def prefixes(self) -> tuple[Prefix, ...]:
        """The beginnings after which there is a choice, so that logits are needed. Shortest first."""
        beginnings = {s[:size] for s in self.sequences for size in range(len(s))}
        choices = (p for p in beginnings if len(self.continuations(p)) > 1)
        return tuple(sorted(choices, key=lambda p: (len(p), p)))

    def log_probs(self, logits: Mapping[Prefix, np.ndarray]) -> np.ndarray:
        """Joint log-probabilities of the candidates, (N,), from the logits (V,) after each prefix."""
        total = np.zeros(len(self.sequences))
        for prefix in self.prefixes:
            tokens = self.continuations(prefix)
            step = log_softmax(np.asarray(logits[prefix], dtype=np.float64)[list(tokens)])
            for i, sequence in enumerate(self.sequences):
                if sequence[: len(prefix)] == prefix:
                    total[i] += step[tokens.index((*sequence, self.end)[len(prefix)])]
        return total
