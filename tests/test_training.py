"""Training: its packed batches give the model's own results, it goes on where it stopped, and it publishes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from lad_core import load_model
from lad_core.scenes.packing import pack
from lad_core.scenes.pool import make_pool
from lad_core.scenes.processor import build_processor
from lad_core.scenes.questions import Questioner, unique
from lad_core.scenes.train import Learner, Recipe, Stage, collate, forward, train

SMALL = Recipe(
    groups=3,
    images_per_step=4,
    tokens_per_step=300,
    stages=(
        Stage("describe", 4, 1e-3, vision=True),
        Stage("retrieve", 4, 1e-3, ((0, 2, 12),), start="describe"),
        Stage("biased", 3, 1e-3, ((0, 2, 12),), start="retrieve", biased=True),
    ),
)


@pytest.fixture(scope="module")
def processor():
    return build_processor()


def test_a_packed_group_equals_its_questions_one_by_one(processor):
    pool = make_pool(1, seed=1)
    scenes = list(pool.scenes)
    rng = np.random.default_rng(0)
    questioner = Questioner(processor)
    seat = unique(scenes)[0]
    asked = [*questioner.retrieve("a red fish", seat, np.eye(12)[seat], "numbers", rng)]
    asked += [questioner.describe(scenes[2], 2, 12, "letters", rng)]
    learner = Learner(processor, seed=0).eval()
    images = np.arange(12)[None]
    vocabulary = len(processor.tokenizer)
    packed = pack([q.tokens for q in asked])
    with torch.no_grad():
        features = learner.encode(processor, pool.pixels)[None]
        together = forward(learner, collate([packed], [asked], images, vocabulary, 0), features)[0]
        for question, path in zip(asked, packed.paths, strict=True):
            ids = torch.tensor([question.tokens])
            inputs = processor.image_processor(
                images=list(torch.from_numpy(pool.pixels)), return_tensors="pt"
            )
            alone = learner.model.model(
                input_ids=ids, mm_token_type_ids=(ids == learner.model.config.image_token_id).int(), **inputs
            ).last_hidden_state[0]
            torch.testing.assert_close(together[path], alone, rtol=0, atol=1e-4)


def test_targets_of_a_question_with_two_token_identifiers(processor):
    """The habit's row, taken apart into first and second tokens, multiplies back to itself."""
    questioner = Questioner(processor)
    row = np.arange(1.0, 13) / 78
    asked = questioner.retrieve("a red fish", 0, row, "numbers", np.random.default_rng(0))
    first, second = (
        dict(zip(q.targets[0].candidates, q.targets[0].probabilities, strict=True)) for q in asked[:2]
    )
    token = processor.tokenizer.convert_tokens_to_ids
    assert first[token("2")] == pytest.approx(row[1])
    assert first[token("1")] * second[questioner.end] == pytest.approx(row[0])
    assert first[token("1")] * second[token("2")] == pytest.approx(row[11])
    assert asked[1].targets[0].weight == pytest.approx(row[0] + row[9] + row[10] + row[11])


def test_the_tokenizer_knows_all_that_is_said(processor):
    ids = processor.tokenizer(
        "Given 12 images indexed from A to L: a RED fish, An Orange Star", add_special_tokens=False
    )
    unknown = processor.tokenizer.unk_token_id
    tokens = processor.tokenizer.convert_ids_to_tokens(ids.input_ids)
    assert [t for t, i in zip(tokens, ids.input_ids, strict=True) if i == unknown] == []
    assert tokens[1:3] == ["1", "2"]
    assert tokens[6] == "A"  # a capital alone is an identifier
    assert "red" in tokens
    assert processor.tokenizer.convert_tokens_to_ids("zebra") == unknown


def state(folder, stage):
    return torch.load(folder / f"{stage}.pt", weights_only=True)["learner"]


def test_training_goes_on_where_it_stopped_and_is_reproducible(tmp_path):
    lines: list[str] = []
    whole = tmp_path / "whole"
    train(whole, SMALL, report=lines.append)
    again = tmp_path / "again"
    train(again, SMALL, until="describe", report=lines.append)
    train(again, SMALL, report=lines.append)
    assert "describe: done already" in lines
    for key, value in state(whole, "biased").items():
        torch.testing.assert_close(state(again, "biased")[key], value, rtol=0, atol=1e-6)
    before, after = state(whole, "retrieve"), state(whole, "biased")
    vision = [key for key in before if ".visual." in key]
    assert vision
    assert all(torch.equal(before[key], after[key]) for key in vision)  # the last stage leaves seeing alone
    with pytest.raises(ValueError, match="another recipe"):
        train(whole, replace(SMALL, seed=8), report=lines.append)


def test_publishing_makes_a_model_that_loads(tmp_path):
    from lad_core.scenes.deal import deal
    from lad_core.scenes.publish import publish

    processor = build_processor()
    publish(Learner(processor, seed=1).model, processor, tmp_path / "mine", lambda line: None, cases=2)
    model = load_model(tmp_path / "mine")
    assert model.image_size == 64
    assert model.settings.layers
    calibration = model.calibration(3, "letters")
    assert calibration.setup == model.observe(deal(3, seed=1), identifiers="letters").setup
