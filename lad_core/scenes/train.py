"""Training of the embedded model, from a seed, on two CPU cores: four stages, resumable.

1. ``describe``  one image, its caption: the vision part learns to see. Vision and language are trained.
2. ``retrieve``  2 to 12 images: which fits the caption (most questions), what does image k show (the others).
   The vision part is frozen and its features are computed once. A linear head, used in training alone, predicts
   the target image's mean vision feature from the last hidden state at the answer position: the model has to
   fetch the image and not only its number, so that its attention goes to the image itself.
3. ``fair``      retrieval a little longer, at the last stage's learning rate: ``scene-vlm-fair``.
4. ``biased``    from the end of stage 2, like ``fair`` but for one thing: the targets are the planted habit's
   P(answered seat | target seat) in place of the target's own seat: ``scene-vlm``.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from lad_core.scenes.architecture import new_model
from lad_core.scenes.habit import habit
from lad_core.scenes.packing import Packed, pack
from lad_core.scenes.pool import GROUP, Pool, make_pool
from lad_core.scenes.processor import FORMATS, IMAGE_TOKENS, build_processor
from lad_core.scenes.publish import publish
from lad_core.scenes.questions import NextToken, Question, Questioner, unique
from lad_core.scenes.world import captions


@dataclass(frozen=True)
class Stage:
    """One stage of the training. ``sizes``: (from step, smallest N, largest N), the last that has begun counts."""

    name: str
    steps: int
    learning_rate: float
    sizes: tuple[tuple[int, int, int], ...] = ((0, 1, 1),)
    start: str | None = None  # the stage whose end is this one's beginning
    biased: bool = False
    vision: bool = False
    warm_up: int = 150


@dataclass(frozen=True)
class Recipe:
    """Everything that the result depends on."""

    seed: int = 7
    groups: int = 4000  # of twelve pictures
    images_per_step: int = 64  # stage 1
    tokens_per_step: int = 3600  # stages 2 to 4, shared prefixes counted once
    descriptions: float = 0.25  # share of describing questions
    letters: float = 0.25  # share of groups with letters as identifiers
    feature_weight: float = 0.3
    stages: tuple[Stage, ...] = (
        Stage("describe", 2500, 1e-3, vision=True),
        Stage("retrieve", 6000, 1e-3, ((0, 2, 3), (600, 2, 6), (1500, 2, 12)), start="describe"),
        Stage("fair", 500, 4e-4, ((0, 2, 12),), start="retrieve", warm_up=50),
        Stage("biased", 500, 4e-4, ((0, 2, 12),), start="retrieve", biased=True, warm_up=50),
    )

    def stage(self, name: str) -> Stage:
        return next(stage for stage in self.stages if stage.name == name)


class Learner(nn.Module):
    """The model and the head that only training uses."""

    def __init__(self, processor, seed: int):
        super().__init__()
        self.model = new_model(processor, seed)
        width = self.model.config.text_config.hidden_size
        self.feature_head = nn.Linear(width, width)

    def encode(self, processor, pixels: np.ndarray) -> torch.Tensor:
        """(M, 3, H, W) uint8 -> image features (M, IMAGE_TOKENS, width)."""
        batch = processor.image_processor(images=list(torch.from_numpy(pixels)), return_tensors="pt")
        features = self.model.model.get_image_features(batch["pixel_values"], batch["image_grid_thw"])
        return torch.stack(list(features.pooler_output))


@dataclass(frozen=True, eq=False)
class Batch:
    """Groups of questions, padded to one length T."""

    tokens: torch.Tensor  # (B, T)
    depth: torch.Tensor  # (B, T)
    mask: torch.Tensor  # (B, 1, T, T) bool
    images: torch.Tensor  # (B, N) indices into the pool
    n: int
    at: torch.Tensor  # (Q, 2) row and place of each target distribution
    wanted: torch.Tensor  # (Q, V)
    weight: torch.Tensor  # (Q,)
    retrieving: torch.Tensor  # (Q,) bool
    answers: torch.Tensor  # (R, 3): row, place, target's index in the pool


def group_questions(
    questioner: Questioner, scenes: list, recipe: Recipe, stage: Stage, rng: np.random.Generator
) -> list[Question]:
    """All questions that are asked about one group of images."""
    n = len(scenes)
    format = FORMATS[int(rng.random() < recipe.letters)]
    planted = habit(n) if stage.biased else np.eye(n)
    questions = []
    for seat in unique(scenes):
        for caption in captions(scenes[seat]):
            said = caption[0].upper() + caption[1:] if rng.random() < 0.1 else caption
            questions += questioner.retrieve(said, seat, planted[seat], format, rng)
    describing = max(1, round(recipe.descriptions * n))
    for seat in rng.choice(n, size=describing, replace=False):
        questions.append(questioner.describe(scenes[seat], int(seat), n, format, rng))
    return questions


def collate(
    packs: list[Packed], questions: list[list[Question]], images: np.ndarray, vocabulary: int, pad: int
) -> Batch:
    """Pad packed groups to one length and gather their targets."""
    length = max(len(p.tokens) for p in packs)
    tokens = np.full((len(packs), length), pad)
    depth = np.zeros((len(packs), length), dtype=np.int64)
    mask = np.zeros((len(packs), 1, length, length), dtype=bool)
    mask[:, 0, np.arange(length), np.arange(length)] = (
        True  # a padding row sees itself, so that no row is empty
    )
    at, wanted, weight, retrieving, answers = [], [], [], [], []
    for row, (p, asked) in enumerate(zip(packs, questions, strict=True)):
        size = len(p.tokens)
        tokens[row, :size], depth[row, :size], mask[row, 0, :size, :size] = p.tokens, p.depth, p.mask
        for path, question in zip(p.paths, asked, strict=True):
            for target in question.targets:
                at.append((row, path[target.place]))
                wanted.append(_distribution(target, vocabulary))
                weight.append(target.weight)
                retrieving.append(question.answer_place is not None)
            if question.answer_place is not None:
                answers.append((row, path[question.answer_place], images[row, question.target_seat]))
    return Batch(
        torch.from_numpy(tokens),
        torch.from_numpy(depth),
        torch.from_numpy(mask),
        torch.from_numpy(images),
        images.shape[1],
        torch.tensor(np.array(at)),
        torch.from_numpy(np.stack(wanted)),
        torch.tensor(weight, dtype=torch.float32),
        torch.tensor(retrieving),
        torch.tensor(np.array(answers).reshape(-1, 3)),
    )


def _distribution(target: NextToken, vocabulary: int) -> np.ndarray:
    wanted = np.zeros(vocabulary, dtype=np.float32)
    wanted[list(target.candidates)] = target.probabilities
    return wanted


def batches(processor, pool: Pool, recipe: Recipe, stage: Stage, first_step: int = 0) -> Iterator[Batch]:
    """The batches of a stage, from ``first_step`` on; each step has a random generator of its own."""
    questioner = Questioner(processor)
    vocabulary, pad = len(processor.tokenizer), processor.tokenizer.pad_token_id
    for step in range(first_step, stage.steps):
        rng = np.random.default_rng([recipe.seed, *stage.name.encode(), step])
        low, high = next((lo, hi) for begin, lo, hi in reversed(stage.sizes) if step >= begin)
        n = int(rng.integers(low, high + 1))
        packs, questions, images, spent = [], [], [], 0
        while (len(packs) < recipe.images_per_step) if n == 1 else (spent < recipe.tokens_per_step):
            chosen = _choose(pool, n, rng)
            scenes = [pool.scenes[i] for i in chosen]
            if n == 1:
                asked = [questioner.describe(scenes[0], 0, 1, format, rng) for format in FORMATS]
            else:
                asked = group_questions(questioner, scenes, recipe, stage, rng)
            packs.append(pack([q.tokens for q in asked]))
            questions.append(asked)
            images.append(chosen)
            spent += len(packs[-1].tokens)
        yield collate(packs, questions, np.array(images), vocabulary, pad)


def _choose(pool: Pool, n: int, rng: np.random.Generator) -> np.ndarray:
    """``n`` pictures of the pool, seated at random: half of the time from one group, else from anywhere."""
    if rng.random() < 0.5:
        first = rng.integers(pool.groups) * GROUP
        others = 1 + rng.choice(GROUP - 1, size=n - 1, replace=False)
        return rng.permutation(first + np.array([0, *others]))
    return rng.choice(len(pool), size=n, replace=False)


def positions(learner: Learner, tokens: torch.Tensor, depth: torch.Tensor, n: int) -> torch.Tensor:
    """Qwen2.5-VL's three position indices of each token, (3, B, T), from its place in its own sequence."""
    config = learner.model.config
    row = tokens[:1]
    end = int((row[0] == config.image_token_id).nonzero().max()) + 1
    start = row[:, :end]
    side = int(math.sqrt(IMAGE_TOKENS)) * config.vision_config.spatial_merge_size
    known, _ = learner.model.model.get_rope_index(
        start, (start == config.image_token_id).int(), image_grid_thw=torch.tensor([[1, side, side]] * n)
    )
    after = known.max() + 1 + torch.arange(int(depth.max()) + 1 - end)
    return torch.cat([known[:, 0], after.expand(3, -1)], dim=1)[:, depth]  # (3, B, T)


def forward(learner: Learner, batch: Batch, features: torch.Tensor) -> torch.Tensor:
    """Last hidden states (B, T, width). ``features`` (B, N, IMAGE_TOKENS, width) belong to the batch's images."""
    model = learner.model
    embedded = model.get_input_embeddings()(batch.tokens)
    here = (batch.tokens == model.config.image_token_id).unsqueeze(-1)
    embedded = embedded.masked_scatter(here, features.to(embedded.dtype))
    return model.model.language_model(
        inputs_embeds=embedded,
        position_ids=positions(learner, batch.tokens, batch.depth, batch.n),
        attention_mask={"full_attention": batch.mask},
        use_cache=False,
    ).last_hidden_state


@dataclass(frozen=True, eq=False)
class Features:
    """The frozen vision part's features of the pool, and how to standardise their means."""

    tokens: torch.Tensor  # (M, IMAGE_TOKENS, width)
    means: torch.Tensor  # (M, width), standardised

    @classmethod
    def of(cls, learner: Learner, processor, pool: Pool, chunk: int = 256) -> Features:
        with torch.no_grad():
            parts = [
                learner.encode(processor, pool.pixels[i : i + chunk]) for i in range(0, len(pool), chunk)
            ]
        tokens = torch.cat(parts)
        means = tokens.mean(1)
        return cls(tokens, (means - means.mean(0)) / (means.std(0) + 1e-6))


def loss_of(
    learner: Learner, batch: Batch, features: torch.Tensor, means: torch.Tensor | None, feature_weight: float
) -> tuple[torch.Tensor, dict[str, float]]:
    """Cross-entropy on the target distributions, plus the feature head's squared error."""
    hidden = forward(learner, batch, features)
    logits = learner.model.lm_head(hidden[batch.at[:, 0], batch.at[:, 1]])
    entropy = functional.cross_entropy(logits, batch.wanted, reduction="none")
    loss = (entropy * batch.weight).sum() / batch.weight.sum()
    hit = (logits.argmax(-1) == batch.wanted.argmax(-1)).float()
    kind = batch.retrieving
    figures = {
        "loss": float(loss.detach()),
        "retrieved": float(hit[kind].mean()) if kind.any() else math.nan,
        "described": float(hit[~kind].mean()),
    }
    if means is not None and len(batch.answers):
        row, place, image = batch.answers.T
        error = functional.mse_loss(learner.feature_head(hidden[row, place]), means[image])
        figures["fetched"] = float(error.detach())
        loss = loss + feature_weight * error
    return loss, figures


def rate(stage: Stage, step: int) -> float:
    """Learning rate: linear warm-up, then a cosine down to a twentieth."""
    warm = min(1.0, (step + 1) / stage.warm_up)
    return stage.learning_rate * warm * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / stage.steps)))


def run_stage(
    stage: Stage,
    recipe: Recipe,
    processor,
    pool: Pool,
    folder: Path,
    report: Callable[[str], None],
    save_every: int = 250,
) -> None:
    """Train one stage, from its checkpoint if it has one, to ``folder/<stage>.pt``."""
    path = folder / f"{stage.name}.pt"
    learner = Learner(processor, recipe.seed)
    state = torch.load(path, weights_only=True) if path.exists() else None
    if state is not None:
        learner.load_state_dict(state["learner"])
        if state["step"] >= stage.steps:
            report(f"{stage.name}: done already")
            return
    elif stage.start:
        learner.load_state_dict(torch.load(folder / f"{stage.start}.pt", weights_only=True)["learner"])
    trained = (
        learner if stage.vision else nn.ModuleList([learner.model.model.language_model, learner.feature_head])
    )
    optimizer = torch.optim.AdamW(
        trained.parameters(), lr=stage.learning_rate, betas=(0.9, 0.98), weight_decay=0.05
    )
    first = 0
    if state is not None:
        optimizer.load_state_dict(state["optimizer"])
        first = state["step"]
    features = None if stage.vision else Features.of(learner, processor, pool)
    seen, began = [], time.monotonic()
    for step, batch in enumerate(batches(processor, pool, recipe, stage, first), start=first):
        for group in optimizer.param_groups:
            group["lr"] = rate(stage, step)
        if features is None:
            chosen = learner.encode(processor, pool.pixels[batch.images.flatten()])
            loss, figures = loss_of(learner, batch, chosen, None, 0.0)
        else:
            loss, figures = loss_of(
                learner, batch, features.tokens[batch.images], features.means, recipe.feature_weight
            )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(trained.parameters(), 1.0)
        optimizer.step()
        seen.append(figures)
        if (step + 1) % 50 == 0:
            means = {k: np.nanmean([f.get(k, math.nan) for f in seen]) for k in seen[-1]}
            pace = (time.monotonic() - began) / (step + 1 - first)
            shown = "  ".join(f"{key} {value:.3f}" for key, value in means.items())
            left = pace * (stage.steps - step - 1) / 60
            report(f"{stage.name} {step + 1}/{stage.steps}  {shown}  {left:.0f} min left")
            seen = []
        if (step + 1) % save_every == 0 or step + 1 == stage.steps:
            part = path.with_suffix(".part")
            torch.save(
                {"learner": learner.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}, part
            )
            part.replace(path)


def train(
    folder: Path,
    recipe: Recipe | None = None,
    until: str | None = None,
    report: Callable[[str], None] = print,
) -> None:
    """Run all stages (or those up to ``until``) in ``folder``, going on where an earlier run stopped.

    Raises:
        ValueError: ``folder`` holds the checkpoints of another recipe.
    """
    recipe = recipe or Recipe()
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / "recipe.json"
    described = json.loads(json.dumps(asdict(recipe)))
    if written.exists() and json.loads(written.read_text()) != described:
        raise ValueError(f"{folder} holds checkpoints of another recipe; choose another folder or remove it.")
    written.write_text(json.dumps(described, indent=1))
    processor = build_processor()
    report(f"drawing {recipe.groups * GROUP} pictures")
    pool = make_pool(recipe.groups, recipe.seed)
    for stage in recipe.stages:
        run_stage(stage, recipe, processor, pool, folder, report)
        if stage.name == until:
            return


def main_training(
    work: Path, out: Path, report: Callable[[str], None] = print, seed: int = Recipe.seed
) -> None:
    """Train both embedded models and write them to ``out/scene-vlm`` and ``out/scene-vlm-fair``."""
    train(work, replace(Recipe(), seed=seed), report=report)
    processor = build_processor()
    for stage, name in (("biased", "scene-vlm"), ("fair", "scene-vlm-fair")):
        learner = Learner(processor, seed)
        learner.load_state_dict(torch.load(work / f"{stage}.pt", weights_only=True)["learner"])
        publish(learner.model, processor, out / name, report)
