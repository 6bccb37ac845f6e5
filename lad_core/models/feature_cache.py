"""A bounded memory of encoded images, keyed by what is in the picture."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from PIL import Image


@dataclass(frozen=True, eq=False)
class EncodedImage:
    """What the vision part leaves behind of one image."""

    features: torch.Tensor  # (tokens, width)
    text: str  # the image's tokens as the processor writes them into the prompt
    inputs: dict[str, Any]  # the image processor's other outputs, such as ``image_grid_thw`` (1, 3)

    @property
    def bytes(self) -> int:
        return self.features.numel() * self.features.element_size()


def image_key(image: Image.Image) -> str:
    """A digest of size and pixels: equal pictures share it, wherever they came from."""
    digest = hashlib.blake2b(f"{image.mode}{image.size}".encode(), digest_size=16)
    digest.update(image.tobytes())
    return digest.hexdigest()


class FeatureCache:
    """Keeps the most recently used encoded images, up to ``capacity`` bytes. ``misses`` counts encodings."""

    def __init__(self, capacity: int = 512 * 2**20):
        self.capacity = capacity
        self.misses = 0
        self._encoded: OrderedDict[str, EncodedImage] = OrderedDict()

    def get(
        self,
        images: Sequence[Image.Image],
        encode: Callable[[list[Image.Image]], list[EncodedImage]],
    ) -> list[EncodedImage]:
        """The encoded ``images``; those not yet known go through ``encode``, each different one once."""
        key_of = {id(image): image_key(image) for image in {id(i): i for i in images}.values()}
        keys = [key_of[id(image)] for image in images]
        unknown = {key: image for key, image in zip(keys, images, strict=True) if key not in self._encoded}
        self.misses += len(unknown)
        fresh = dict(zip(unknown, encode(list(unknown.values())), strict=True)) if unknown else {}
        found = [fresh.get(key) or self._encoded[key] for key in keys]
        for key, encoded in zip(keys, found, strict=True):
            self._encoded[key] = encoded
            self._encoded.move_to_end(key)
        while len(self._encoded) > 1 and sum(e.bytes for e in self._encoded.values()) > self.capacity:
            self._encoded.popitem(last=False)
        return found
