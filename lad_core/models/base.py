"""``observe``: a case through a multimodal language model in one forward pass, for every family.

What differs between families lies in the adapters; see :class:`VisionLanguageModel` for what they may override.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import nn
from transformers.modeling_outputs import BaseModelOutputWithPooling

from lad_core.calibration import Calibration
from lad_core.candidates import CandidateTrie
from lad_core.case import Case
from lad_core.debias import Settings
from lad_core.images import fit
from lad_core.models.feature_cache import EncodedImage, FeatureCache
from lad_core.models.probe import record_last_rows
from lad_core.observation import Observation, Setup
from lad_core.prompts import identifiers as identifier_names
from lad_core.prompts import prompt as prompt_text

#: Beside a checkpoint: image size, settings and calibrations that were chosen for it.
SIDECAR = "lad.json"
CALIBRATIONS = "calibrations"
PAPER_IMAGE_SIZE = 336  # pixels a side, bicubic: the released code's


class VisionLanguageModel:
    """A loaded model and its processor. Safe to share between sessions: calls are taken one at a time."""

    def __init__(
        self,
        model: nn.Module,
        processor: Any,
        *,
        name: str,
        revision: str = "",
        folder: Path | None = None,
        image_size: int | None = None,
        batch_tokens: int = 16_384,
    ):
        self.model = model.eval()
        self.processor = processor
        self.tokenizer = processor.tokenizer
        self.name = name
        self.revision = revision
        self.folder = folder
        self.batch_tokens = batch_tokens
        self.features = FeatureCache()
        self._lock = threading.Lock()
        self._trie = lru_cache(maxsize=64)(self._candidate_trie)
        sidecar = _read_sidecar(folder)
        self.image_size = image_size or sidecar.get("image_size", PAPER_IMAGE_SIZE)
        self.settings = Settings(**sidecar.get("settings", {}))

    # ---- what a family may say differently ----

    @property
    def text_model(self) -> nn.Module:
        """The language part: its decoder layers are those whose attention is read."""
        return self.model.model.language_model

    @property
    def attention_modules(self) -> list[nn.Module]:
        """The attention module of each text layer, from the first to the last."""
        return [layer.self_attn for layer in self.text_model.layers]

    @property
    def image_token_id(self) -> int:
        return self.model.config.image_token_id

    def grid(self, encoded: EncodedImage) -> tuple[int, int]:
        """Rows and columns in which an image's tokens lie."""
        raise NotImplementedError

    def position_inputs(
        self, input_ids: torch.Tensor, mask: torch.Tensor, encoded: list[list[EncodedImage]]
    ) -> dict:
        """Extra inputs of the forward pass over a whole prompt, ``position_ids`` among them if it needs any."""
        return {}

    def next_position_inputs(self, prefill: Mapping[str, torch.Tensor], length: int) -> dict:
        """The same for ``length`` tokens that follow the prompt."""
        return {}

    # ---- what is the same for all ----

    @property
    def n_layers(self) -> int:
        return len(self.attention_modules)

    @property
    def device(self) -> torch.device:
        return self.model.get_input_embeddings().weight.device

    def setup(self, n: int, identifiers: str = "numbers") -> Setup:
        """What a calibration has to share with an observation of ``n`` images."""
        return Setup(
            model=self.name, n=n, identifiers=identifiers, image_size=self.image_size, revision=self.revision
        )

    def calibration(self, n: int, identifiers: str = "numbers") -> Calibration | None:
        """The calibration that ships with the checkpoint for this setting, if one does."""
        if self.folder is None:
            return None
        path = self.folder / CALIBRATIONS / f"{identifiers}-{n}.json"
        return Calibration.load(path) if path.exists() else None

    def unknown_words(self, query: str) -> tuple[str, ...]:
        """The words of a query that the tokenizer can't tell apart from any other unknown word."""
        unknown = self.tokenizer.unk_token_id
        if unknown is None:
            return ()
        words = (word.strip(".,;:!?\"'()") for word in query.split())
        return tuple(dict.fromkeys(word for word in words if unknown in self._tokens(word)))

    def observe(self, case: Case, *, identifiers: str = "numbers") -> Observation:
        """One forward pass over a case as it is seated.

        Raises:
            ValueError: ``identifiers`` that this model's tokenizer can't tell apart.
        """
        return self.observe_many([case], identifiers=identifiers)[0]

    def observe_many(
        self,
        cases: Sequence[Case],
        *,
        identifiers: str = "numbers",
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Observation]:
        """Observations of many cases, in their order, batched where the number of images is the same.

        Equal to observing them one by one. ``progress(done, total)`` is called after each batch; an exception
        that it raises ends the work.
        """
        observations: dict[int, Observation] = {}
        for batch in self._batches(cases):
            with self._lock, torch.inference_mode():
                found = self._observe_batch([cases[i] for i in batch], identifiers)
            observations.update(zip(batch, found, strict=True))
            if progress is not None:
                progress(len(observations), len(cases))
        return [observations[i] for i in range(len(cases))]

    def _batches(self, cases: Sequence[Case]) -> Iterator[list[int]]:
        """Indices of cases that go through the model together: of one N, within the token budget."""
        by_n: dict[int, list[int]] = {}
        for i, case in enumerate(cases):
            by_n.setdefault(case.n, []).append(i)
        for indices in by_n.values():
            with self._lock, torch.inference_mode():
                tokens = sum(len(e.features) for e in self.encode(cases[indices[0]].images)) + 64
            size = max(1, self.batch_tokens // tokens)
            yield from (indices[i : i + size] for i in range(0, len(indices), size))

    def encode(self, images: Sequence[Image.Image]) -> list[EncodedImage]:
        """Image features, each picture once (bounded cache keyed by content)."""
        return self.features.get(images, self._encode)

    def _encode(self, images: list[Image.Image]) -> list[EncodedImage]:
        """Pictures, brought to one size, through the processor and the vision part."""
        fitted = [fit(image, self.image_size) for image in images]
        inputs = self.processor.image_processor(images=fitted, return_tensors="pt").to(self.device)
        pooled = self.image_features(inputs)
        rows = [
            {k: v[i : i + 1] for k, v in inputs.items() if k != "pixel_values"} for i in range(len(images))
        ]
        return [
            EncodedImage(features, self.processor.replace_image_token(row, 0), row)
            for features, row in zip(pooled, rows, strict=True)
        ]

    def image_features(self, inputs: Mapping[str, torch.Tensor]) -> Sequence[torch.Tensor]:
        """Features of each image, (tokens, width), from the image processor's output."""
        return self.model.model.get_image_features(**inputs, return_dict=True).pooler_output

    def _observe_batch(self, cases: list[Case], identifiers: str) -> list[Observation]:
        """Cases of one N in one forward pass (and a short one from its cache for identifiers of several tokens)."""
        clock = _Clock()
        with clock("encode"):
            n = cases[0].n
            flat = self.encode([image for case in cases for image in case.seated_images])
            encoded = [flat[i : i + n] for i in range(0, len(flat), n)]
        trie = self._trie(n, identifiers)
        prompts = [
            self.prompt_ids(case, images, identifiers) for case, images in zip(cases, encoded, strict=True)
        ]
        input_ids, mask = self._left_padded(prompts)
        inputs = {"input_ids": input_ids, "attention_mask": mask}
        inputs |= self.position_inputs(input_ids, mask, encoded)
        features = [e.features for images in encoded for e in images]
        with clock("forward"), record_last_rows(self.attention_modules) as recorded:
            output = self.model(
                **inputs,
                mm_encoder_outputs={"image": BaseModelOutputWithPooling(pooler_output=features)},
                use_cache=not trie.single_token,
                logits_to_keep=1,
            )
            rows = recorded.stacked()  # (L, B, T)
        with clock("candidates"):
            logits = self._candidate_logits(trie, output, inputs)  # prefix -> (B, V)
            raw = logits[()][:, [sequence[0] for sequence in trie.sequences]]  # (B, N) first-token logits
        seconds = {stage: spent / len(cases) for stage, spent in clock.seconds.items()}
        return [
            self._observation(
                rows[:, b].double().numpy(),
                input_ids[b].cpu().numpy(),
                encoded[b],
                trie.log_probs({prefix: values[b] for prefix, values in logits.items()}),
                raw[b] if trie.single_token else None,
                self.setup(n, identifiers),
                seconds,
            )
            for b in range(len(cases))
        ]

    def _observation(
        self,
        rows: np.ndarray,  # (L, T)
        input_ids: np.ndarray,  # (T,)
        encoded: list[EncodedImage],
        log_probs: np.ndarray,  # (N,)
        raw: np.ndarray | None,  # (N,)
        setup: Setup,
        seconds: dict[str, float],
    ) -> Observation:
        at = np.flatnonzero(input_ids == self.image_token_id)
        counts = [len(e.features) for e in encoded]
        spans = np.split(at, np.cumsum(counts)[:-1])
        patches = tuple(
            rows[:, span].reshape(len(rows), *self.grid(e)) for span, e in zip(spans, encoded, strict=True)
        )
        return Observation(
            log_probs=log_probs,
            attention=np.stack([p.sum((1, 2)) for p in patches], axis=1),
            scores=log_probs if raw is None else raw,
            patch_attention=patches,
            token_counts=np.array(counts),
            setup=setup,
            seconds=seconds,
        )

    # ---- prompts and candidates ----

    def _tokens(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer(text, add_special_tokens=False).input_ids)

    def chat_text(self, n_images: int, text: str, answer: str | None = None) -> str:
        """One user turn, images first, in the model's own chat layout, up to the answer or including it."""
        turns = [
            {"role": "user", "content": [{"type": "image"}] * n_images + [{"type": "text", "text": text}]}
        ]
        if answer is not None:
            turns.append({"role": "assistant", "content": [{"type": "text", "text": answer}]})
        return self.processor.apply_chat_template(turns, add_generation_prompt=answer is None, tokenize=False)

    def prompt_ids(self, case: Case, encoded: Sequence[EncodedImage], identifiers: str) -> list[int]:
        """The token ids of a case's prompt, each image in the place of its placeholder."""
        text = self.chat_text(case.n, prompt_text(_plain(case.query, self.tokenizer), case.n, identifiers))
        pieces = text.split(self.processor.image_token)
        text = pieces[0] + "".join(e.text + piece for e, piece in zip(encoded, pieces[1:], strict=True))
        return self.tokenizer(text).input_ids

    def _candidate_trie(self, n: int, identifiers: str) -> CandidateTrie:
        """The identifiers' tokens as they follow the real prompt, and the token that ends an answer."""
        text = prompt_text("", n, identifiers)
        start = self.chat_text(0, text)
        begun = self._tokens(start)
        sequences = []
        for name in identifier_names(n, identifiers):
            whole = self.chat_text(0, text, answer=name)
            tokens = self._tokens(whole)
            if not whole.startswith(start) or tokens[: len(begun)] != begun:
                raise ValueError(f"{self.name} does not keep its prompt's tokens when {name!r} follows it.")
            sequences.append(tokens[len(begun) :])
        # What all answers have in common at their end is the turn's end, and its first token ends an answer.
        ending = _common_ending(sequences)
        if not ending:
            raise ValueError(f"{self.name}'s chat template does not end an answer with a token of its own.")
        return CandidateTrie([sequence[: -len(ending)] for sequence in sequences], end=ending[0])

    def _left_padded(self, prompts: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """(B, T) token ids and mask; the last token of every prompt lies at the end."""
        length = max(map(len, prompts))
        pad = self.tokenizer.pad_token_id or 0
        ids = [[pad] * (length - len(p)) + list(p) for p in prompts]
        mask = [[0] * (length - len(p)) + [1] * len(p) for p in prompts]
        return torch.tensor(ids, device=self.device), torch.tensor(mask, device=self.device)

    def _candidate_logits(
        self, trie: CandidateTrie, output: Any, inputs: Mapping[str, torch.Tensor]
    ) -> dict[tuple[int, ...], np.ndarray]:
        """Next-token logits after each prefix of the trie, (B, V) float64, from the prompt's key-value cache."""
        found = {(): output.logits[:, -1].double().cpu().numpy()}
        batch = len(inputs["input_ids"])
        for prefix in trie.prefixes:
            if prefix in found:
                continue
            tokens = torch.tensor([prefix] * batch, device=self.device)  # (B, P)
            mask = torch.cat([inputs["attention_mask"], torch.ones_like(tokens)], dim=1)
            further = self.model(
                input_ids=tokens,
                attention_mask=mask,
                cache=output.cache,
                use_cache=True,
                **self.next_position_inputs(inputs, len(prefix)),
            )
            output.cache.crop(-len(prefix))
            for place in range(1, len(prefix) + 1):
                found[prefix[:place]] = further.logits[:, place - 1].double().cpu().numpy()
        return {prefix: found[prefix] for prefix in {(), *trie.prefixes}}


class _Clock:
    """Adds up the wall-clock seconds spent in named stages."""

    def __init__(self):
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - began


def _common_ending(sequences: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The longest run of tokens with which all sequences end, leaving each at least one token."""
    length = 0
    while (
        length < min(map(len, sequences)) - 1 and len({sequence[-length - 1] for sequence in sequences}) == 1
    ):
        length += 1
    return sequences[0][len(sequences[0]) - length :]


def _plain(query: str, tokenizer: Any) -> str:
    """The query without anything that the tokenizer would read as one of its special tokens."""
    for special in tokenizer.all_special_tokens:
        query = query.replace(special, " ")
    return query


def _read_sidecar(folder: Path | None) -> dict[str, Any]:
    path = folder / SIDECAR if folder is not None else None
    return json.loads(path.read_text()) if path is not None and path.exists() else {}
