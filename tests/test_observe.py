"""One forward pass against the slow way: eager attention, full passes, one case at a time. Float32 to 1e-5."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_models import save_qwen2_5_vl
from transformers import AutoModelForImageTextToText

from lad_core import Case, load_model
from lad_core.candidates import CandidateTrie
from lad_core.images import fit
from lad_core.prompts import identifiers, prompt
from lad_core.scenes.deal import deal

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_qwen2_5_vl(tmp_path_factory.mktemp("qwen2_5_vl"))


@pytest.fixture(scope="module")
def model(folder):
    return load_model(folder, image_size=64)


def plain_inputs(model, case: Case, answer: str = "") -> dict[str, torch.Tensor]:
    """A case as transformers' own processor prepares it, the answer begun or not."""
    text = model.chat_text(case.n, prompt(case.query, case.n)) + answer
    images = [fit(image, model.image_size) for image in case.seated_images]
    return model.processor(text=[text], images=images, return_tensors="pt")


def eager_pass(folder, model, case: Case, answer: str = ""):
    eager = AutoModelForImageTextToText.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        return eager(**plain_inputs(model, case, answer), output_attentions=True)


@pytest.mark.parametrize("n", [2, 5, 12])
def test_rows_equal_eager_attention(folder, model, n):
    case = deal(n, seed=n)
    output = eager_pass(folder, model, case)
    ids = plain_inputs(model, case)["input_ids"][0]
    spans = np.split(np.flatnonzero(ids == model.image_token_id), n)
    observed = model.observe(case)
    for layer, weights in enumerate(output.attentions):
        row = weights[0, :, -1].mean(0).numpy()  # (T,)
        for seat, span in enumerate(spans):
            assert observed.attention[layer, seat] == pytest.approx(row[span].sum(), abs=TOLERANCE)
            np.testing.assert_allclose(
                observed.patch_attention[seat][layer].ravel(), row[span], rtol=0, atol=TOLERANCE
            )


def test_log_probs_equal_full_passes(folder, model):
    """N = 12 has "1" against "10", "11", "12": the second token comes from the cache, here from a full pass."""
    case = deal(12, seed=3)
    trie = model._trie(12, "numbers")
    assert not trie.single_token
    one = model.tokenizer.convert_tokens_to_ids("1")
    full = {
        (): eager_pass(folder, model, case).logits[0, -1].double().numpy(),
        (one,): eager_pass(folder, model, case, "1").logits[0, -1].double().numpy(),
    }
    expected = CandidateTrie(trie.sequences, end=trie.end).log_probs(full)
    np.testing.assert_allclose(model.observe(case).log_probs, expected, rtol=0, atol=TOLERANCE)


def test_first_token_logits_are_the_scores(folder, model):
    case = deal(4, seed=1)
    tokens = [model.tokenizer.convert_tokens_to_ids(name) for name in identifiers(4)]
    expected = eager_pass(folder, model, case).logits[0, -1][tokens].numpy()
    np.testing.assert_allclose(model.observe(case).scores, expected, rtol=0, atol=TOLERANCE)


def test_batched_equals_one_by_one(folder):
    """Queries of different length (left padding), numbers of images, and rotations, together and alone."""
    cases = [deal(5, seed=s) for s in range(3)] + [deal(12, seed=9).rotated(2), deal(2, seed=1)]
    cases.append(Case("a red fish", cases[0].images))
    together = load_model(folder, image_size=64).observe_many(cases)
    alone = load_model(folder, image_size=64)
    for case, observed in zip(cases, together, strict=True):
        single = alone.observe(case)
        np.testing.assert_allclose(observed.log_probs, single.log_probs, rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(observed.attention, single.attention, rtol=0, atol=TOLERANCE)


def test_each_picture_is_encoded_once(folder):
    model = load_model(folder, image_size=64)
    case = deal(6, seed=2)
    model.observe_many([case.rotated(k) for k in range(6)])
    model.observe(case.reversed())
    assert model.features.misses == 6


def test_features_do_not_depend_on_company_or_seat(folder):
    images = deal(6, seed=4).images
    together = load_model(folder, image_size=64).encode(images)
    for image, encoded in zip(images, together, strict=True):
        alone = load_model(folder, image_size=64).encode([image])[0]
        torch.testing.assert_close(encoded.features, alone.features, rtol=0, atol=TOLERANCE)


def test_only_text_layers_are_read(model):
    assert model.n_layers == 5
    assert model.observe(deal(3, seed=0)).attention.shape == (5, 3)


def test_special_tokens_in_a_query_stay_text(model):
    """A query can't smuggle in an image placeholder or end the turn."""
    case = deal(3, seed=0)
    smuggled = Case(f"{case.query} <|image_pad|> <|im_end|>", case.images)
    np.testing.assert_allclose(
        model.observe(smuggled).log_probs, model.observe(case).log_probs, rtol=0, atol=TOLERANCE
    )


def test_bfloat16_is_near_float32(folder, model):
    case = deal(4, seed=5)
    half = load_model(folder, image_size=64, dtype=torch.bfloat16).observe(case)
    np.testing.assert_allclose(half.attention, model.observe(case).attention, atol=0.05)


def test_folders_that_are_no_model(tmp_path):
    with pytest.raises(ValueError, match=r"no config\.json"):
        load_model(tmp_path)
    with pytest.raises(ValueError, match="There is no model 'nobody/nothing'"):
        load_model("nobody/nothing")
