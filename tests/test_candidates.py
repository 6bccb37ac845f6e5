from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lad_core.candidates import CandidateTrie

END = 0
sequences = st.lists(
    st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple), min_size=2, max_size=12, unique=True
)


def logits_for(trie: CandidateTrie, seed: int) -> dict:
    rng = np.random.default_rng(seed)
    return {prefix: rng.normal(0, 5, 6) for prefix in trie.prefixes}


@given(sequences, st.integers(0, 999))
def test_probabilities_sum_to_one(sequences, seed):
    trie = CandidateTrie(sequences, END)
    assert np.exp(trie.log_probs(logits_for(trie, seed))).sum() == pytest.approx(1, abs=1e-12)


@given(sequences, st.integers(0, 999), st.floats(-100, 100))
def test_a_constant_on_the_logits_changes_nothing(sequences, seed, constant):
    trie = CandidateTrie(sequences, END)
    logits = logits_for(trie, seed)
    moved = {prefix: values + constant for prefix, values in logits.items()}
    np.testing.assert_allclose(trie.log_probs(moved), trie.log_probs(logits), atol=1e-9)


def test_one_may_stop_where_another_goes_on():
    """ "1" ends where "10" goes on: by hand, P(1) = P(1|start) P(end|1), P(10) = P(1|start) P(0|1)."""
    one, two, zero = 1, 2, 3
    trie = CandidateTrie([(one,), (two,), (one, zero)], END)
    assert not trie.single_token
    assert trie.prefixes == ((), (one,))
    assert trie.continuations((one,)) == (END, zero)
    logits = {(): np.log([9, 0.6, 0.4, 9]), (one,): np.log([0.75, 9, 9, 0.25])}
    np.testing.assert_allclose(np.exp(trie.log_probs(logits)), [0.45, 0.4, 0.15])


def test_forced_steps_need_no_logits():
    trie = CandidateTrie([(1, 2, 3), (1, 4, 5)], END)
    assert trie.prefixes == ((1,),)
    logits = {(1,): np.log([9, 9, 0.3, 9, 0.7, 9])}
    np.testing.assert_allclose(np.exp(trie.log_probs(logits)), [0.3, 0.7])


def test_what_is_refused():
    with pytest.raises(ValueError, match="must not be empty"):
        CandidateTrie([(1,), ()], END)
    with pytest.raises(ValueError, match="same tokens"):
        CandidateTrie([(1, 2), (1, 2)], END)
    with pytest.raises(ValueError, match="must not hold the end token"):
        CandidateTrie([(1,), (1, END)], END)
    with pytest.raises(ValueError, match="must not be empty"):
        CandidateTrie([], END)


def test_an_impossible_token_makes_its_candidates_impossible():
    trie = CandidateTrie([(1,), (2,), (1, 3)], END)
    logits = {(): np.array([9, -np.inf, 0.0, 9]), (1,): np.array([0.0, 9, 9, 0.0])}
    assert np.exp(trie.log_probs(logits)).tolist() == [0, 1, 0]
