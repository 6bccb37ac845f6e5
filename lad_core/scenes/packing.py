"""Many questions about the same images, packed into one training sequence that shares their common beginning.

The images come first in the prompt, so N questions about them repeat a long prefix. Laid out as a prefix tree,
with an attention mask that lets each token see its own ancestors alone, every question gets exactly the result
that it would get by itself, at a fraction of the tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Packed:
    """A prefix tree of token sequences."""

    tokens: np.ndarray  # (T,)
    depth: np.ndarray  # (T,) place of each token in its own sequence
    mask: np.ndarray  # (T, T) bool, True where the row's token sees the column's
    paths: tuple[np.ndarray, ...]  # of each sequence: where its tokens lie in the tree


def pack(sequences: Sequence[Sequence[int]]) -> Packed:
    """Merge token sequences into their prefix tree. The first one's tokens lie in its own order at the start."""
    children: dict[tuple[int, int], int] = {}  # (parent node, token) -> node
    tokens: list[int] = []
    depth: list[int] = []
    parents: list[int] = []
    paths = []
    for sequence in sequences:
        node, path = -1, []
        for place, token in enumerate(sequence):
            child = children.get((node, token))
            if child is None:
                child = children[node, token] = len(tokens)
                tokens.append(token)
                depth.append(place)
                parents.append(node)
            node = child
            path.append(node)
        paths.append(np.array(path))
    mask = np.eye(len(tokens), dtype=bool)
    for node, parent in enumerate(parents):  # parents come before their children
        if parent >= 0:
            mask[node] |= mask[parent]
    return Packed(np.array(tokens), np.array(depth), mask, tuple(paths))
