"""What the embedded model is asked in training: which image fits a caption, and what one image shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lad_core.prompts import identifiers, prompt
from lad_core.scenes.processor import IMAGE_TOKENS, describe_prompt
from lad_core.scenes.world import Scene, captions, is_true_of


@dataclass(frozen=True)
class NextToken:
    """A target distribution over the token that follows ``tokens[: place + 1]``."""

    place: int
    candidates: tuple[int, ...]
    probabilities: tuple[float, ...]
    weight: float = 1.0


@dataclass(frozen=True)
class Question:
    """One prompt with its answer, and what is to be learned at which place."""

    tokens: tuple[int, ...]
    targets: tuple[NextToken, ...]
    answer_place: int | None = None  # last token of a retrieval prompt; None for a description
    target_seat: int | None = None


class Questioner:
    """Turns groups of scenes into questions, as token sequences in the model's own chat layout."""

    def __init__(self, processor):
        self.tokenizer = processor.tokenizer
        self.processor = processor
        self.end = self.tokenizer.convert_tokens_to_ids("<|im_end|>")
        self.image = self.tokenizer.convert_tokens_to_ids("<|image_pad|>")
        self._tokens = lru_cache(maxsize=100_000)(self._tokenize)
        self._chat = lru_cache(maxsize=64)(self._chat_parts)

    def _tokenize(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer(text, add_special_tokens=False).input_ids)

    def _chat_parts(self, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The chat layout of ``n`` images, before and after the user's text."""
        content = [{"type": "image"}] * n + [{"type": "text", "text": "\0"}]
        text = self.processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
        )
        before, after = (self._tokenize(part) for part in text.split("\0"))
        expanded = [t for token in before for t in (token,) * (IMAGE_TOKENS if token == self.image else 1)]
        return tuple(expanded), after

    def prompt_tokens(self, n: int, text: str) -> tuple[int, ...]:
        before, after = self._chat(n)
        return before + self._tokens(text) + after

    def describe(self, scene: Scene, seat: int, n: int, format: str, rng: np.random.Generator) -> Question:
        """ "Describe image k": every token of one of its captions is a target."""
        caption = captions(scene)[rng.integers(len(captions(scene)))]
        start = self.prompt_tokens(n, describe_prompt(identifiers(n, format)[seat]))
        answer = (*self._tokens(caption), self.end)
        targets = [NextToken(len(start) - 1 + i, (token,), (1.0,)) for i, token in enumerate(answer)]
        return Question(start + answer[:-1], tuple(targets))

    def retrieve(
        self, caption: str, seat: int, answers: np.ndarray, format: str, rng: np.random.Generator
    ) -> tuple[Question, ...]:
        """The retrieval prompt, answered as ``answers`` (N,) distributes the seats.

        One question carries the answer's first token; identifiers that begin alike ("1", "10") need a second,
        whose prompt goes on with that beginning.
        """
        n = len(answers)
        start = self.prompt_tokens(n, prompt(caption, n, format))
        names = [self._tokens(name) for name in identifiers(n, format)]
        said = names[rng.choice(n, p=answers)]
        questions = []
        for beginning in sorted({(), *(name[:-1] for name in names)}):
            chance: dict[int, float] = {}
            for name, p in zip(names, answers, strict=True):
                if name[: len(beginning)] == beginning:
                    following = (*name, self.end)[len(beginning)]
                    chance[following] = chance.get(following, 0.0) + p
            mass = sum(chance.values())
            if mass > 1e-4:
                place = len(start) - 1 + len(beginning)
                target = NextToken(place, tuple(chance), tuple(p / mass for p in chance.values()), mass)
                answer_place = len(start) - 1 if not beginning else None
                questions.append(Question(start + beginning, (target,), answer_place, seat))
        end = NextToken(len(start) - 1 + len(said), (self.end,), (1.0,), 0.1)
        return (*questions, Question(start + said, (end,)))


def unique(scenes: Sequence[Scene]) -> list[int]:
    """The seats whose captions are true of their own picture alone."""
    return [
        seat
        for seat, scene in enumerate(scenes)
        if not any(is_true_of(scene, other) for i, other in enumerate(scenes) if i != seat)
    ]
