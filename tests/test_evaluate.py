"""The evaluation on a model whose answers are known: its arithmetic, the seed, going on after a stop."""

import json
from dataclasses import replace

import numpy as np
import pytest
from fake_model import HABIT, FakeModel, fake_data

from lad_core.calibration import calibrate
from lad_core.debias import Settings
from lad_core.evaluate import DEFAULT_METHODS, check_methods, distinct_orders, evaluate
from lad_core.methods import METHODS, VOTES

ALL = tuple(METHODS)


def by_method(evaluation):
    return {result.method: result for result in evaluation.results}


def outcome(evaluation):
    """All that has to be the same in two runs: everything but the time."""
    content = evaluation.as_json()
    for result in content["results"]:
        assert result.pop("seconds") >= 0
        result["confusion"] = result["confusion"].tolist()
    return content


@pytest.fixture(scope="module")
def found():
    return evaluate(FakeModel(), fake_data(12), methods=ALL, orders=5, seed=3)


def test_the_confusion_matrix_is_the_models_habit(found):
    table = by_method(found)["vanilla"].confusion
    says = HABIT.argmax(axis=1)
    assert table.sum() == 12 * 5
    for target in range(4):
        assert table[target, says[target]] == table[target].sum() > 0
    recall = np.array([says[target] == target for target in range(4)])
    visits = table.sum(axis=1)
    assert by_method(found)["vanilla"].accuracy == pytest.approx(100 * (recall * visits).sum() / 60)
    assert by_method(found)["vanilla"].rstd == pytest.approx(100 * recall.std(ddof=1))


def test_accuracy_deviates_over_the_orders_as_a_plain_loop_says(found):
    rights = np.zeros((12, 5))
    for index in range(12):
        rng = np.random.default_rng([3, index])
        for t, order in enumerate(distinct_orders(4, 5, rng)):
            seat = order.index(index % 4)
            rights[index, t] = HABIT[seat].argmax() == seat
    vanilla = by_method(found)["vanilla"]
    assert vanilla.accuracy == pytest.approx(100 * rights.mean())
    assert vanilla.accuracy_std == pytest.approx(100 * rights.mean(axis=0).std(ddof=1))


def test_attention_and_its_correction_are_right_all_the_time(found):
    for name in ("attention", "purified", "debiased"):
        result = by_method(found)[name]
        assert (result.accuracy, result.rstd, result.consistency) == (100, 0, 100), name
        assert np.count_nonzero(result.confusion - np.diag(result.confusion.diagonal())) == 0


def test_divergence_is_the_share_of_wrong_raw_answers_here(found):
    assert found.divergence == pytest.approx(100 - by_method(found)["vanilla"].accuracy)
    assert 0 < found.divergence < 100


def test_forward_passes_are_counted_for_each_answer(found):
    passes = {name: result.forward_passes for name, result in by_method(found).items()}
    assert passes == dict.fromkeys(DEFAULT_METHODS, 1) | {"self-consistency": VOTES, "permutation": 4}
    seconds = {name: result.seconds for name, result in by_method(found).items()}
    assert seconds["permutation"] > 0


def test_consistency_counts_images_and_not_seats():
    """Always answering the last seat picks another image in each order."""
    model = FakeModel()
    model._observe = lambda case, identifiers: replace(
        FakeModel._observe(model, case, identifiers), log_probs=np.log([0.1, 0.1, 0.1, 0.7])
    )
    result = by_method(evaluate(model, fake_data(8), methods=["vanilla"], orders=5))["vanilla"]
    assert result.consistency < 40
    assert result.confusion[:, 3].sum() == 40


def test_methods_share_one_observation_of_each_order():
    model = FakeModel()
    evaluate(model, fake_data(6), methods=DEFAULT_METHODS, orders=3)
    assert model.passes == 5 * 4 + 6 * 3  # calibration, and one for each order of each case


def test_no_calibration_is_made_where_no_method_needs_one():
    model = FakeModel()
    found = evaluate(model, fake_data(2), methods=["vanilla", "permutation"], orders=1)
    assert model.passes == 2 * 4  # the rotations, of which the order as given is one
    assert found.calibration is None
    assert found.divergence is None


def test_where_the_calibration_is_from_is_said():
    made = evaluate(FakeModel(), fake_data(2), orders=1).calibration
    assert made == "5 other cases of fakes"
    shipped = calibrate(FakeModel(), fake_data(5)[:])
    assert evaluate(FakeModel(shipped), fake_data(2), orders=1).calibration.startswith(
        "shipped with the model"
    )
    assert evaluate(FakeModel(), fake_data(2), orders=1, calibration=shipped).calibration.startswith(
        "as given"
    )


def test_the_same_seed_gives_the_same_and_another_gives_another(found):
    again = evaluate(FakeModel(), fake_data(12), methods=ALL, orders=5, seed=3)
    other = evaluate(FakeModel(), fake_data(12), methods=ALL, orders=5, seed=4)
    assert outcome(again) == outcome(found)
    assert outcome(other)["results"] != outcome(found)["results"]


def test_what_else_is_evaluated_does_not_matter(found):
    alone = evaluate(FakeModel(), fake_data(12), methods=["self-consistency"], orders=5, seed=3)
    assert list(outcome(alone)["results"]) == [
        result for result in outcome(found)["results"] if result["method"] == "self-consistency"
    ]


def test_the_settings_and_the_variant_reach_the_methods():
    uniform = evaluate(
        FakeModel(), fake_data(8), settings=Settings(top_k=1, layers=(0,)), methods=["attention"]
    )
    assert by_method(uniform)["attention"].accuracy < 60  # layer 0 looks everywhere alike
    ranked = evaluate(
        FakeModel(), fake_data(8), settings=Settings(top_k=1, variant="ranked"), methods=["purified"]
    )
    assert by_method(ranked)["purified"].accuracy == 100


def test_progress_is_told():
    heard = []
    evaluate(FakeModel(), fake_data(3), orders=1, progress=lambda *told: heard.append(told))
    assert [told for told in heard if told[0] == "cases"] == [("cases", i, 3) for i in range(4)]


# ---- going on ----


def test_a_run_that_was_stopped_goes_on(found, tmp_path):
    record = tmp_path / "record.jsonl"
    options = {"methods": ALL, "orders": 5, "seed": 3, "resume": record}
    with pytest.raises(KeyboardInterrupt):
        evaluate(FakeModel(stop_after=100), fake_data(12), **options)
    done = len(record.read_text().splitlines()) - 1
    assert 0 < done < 12
    model = FakeModel()
    assert outcome(evaluate(model, fake_data(12), **options)) == outcome(found)
    finished = FakeModel()
    assert outcome(evaluate(finished, fake_data(12), **options)) == outcome(found)
    assert finished.passes == 5 * 4 < model.passes


def test_a_line_that_was_cut_short_is_answered_again(found, tmp_path):
    record = tmp_path / "record.jsonl"
    options = {"methods": ALL, "orders": 5, "seed": 3, "resume": record}
    evaluate(FakeModel(), fake_data(12), **options)
    whole = record.read_text()
    record.write_text(whole[:-30])
    assert outcome(evaluate(FakeModel(), fake_data(12), **options)) == outcome(found)
    assert [json.loads(line) for line in record.read_text().splitlines()][-1]["case"] == 11


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"methods": ["vanilla"]}, "methods is "),
        ({"orders": 3}, "orders is 2 there and 3 here"),
        ({"seed": 8}, "seed is 7 there and 8 here"),
        ({"identifiers": "letters"}, "identifiers is numbers there and letters here"),
        ({"settings": Settings(top_k=2)}, "settings is "),
    ],
)
def test_the_record_of_another_evaluation_is_refused(tmp_path, change, says):
    record = tmp_path / "record.jsonl"
    options = {"methods": ["vanilla", "pride"], "orders": 2, "seed": 7, "resume": record}
    evaluate(FakeModel(), fake_data(2), **options)
    before = record.read_text()
    with pytest.raises(ValueError, match=r"record\.jsonl records another evaluation") as refused:
        evaluate(FakeModel(), fake_data(2), **(options | change))
    assert says in str(refused.value)
    assert record.read_text() == before


def test_another_model_or_data_set_is_refused(tmp_path):
    record = tmp_path / "record.jsonl"
    evaluate(FakeModel(), fake_data(2), orders=1, resume=record)
    with pytest.raises(ValueError, match="cases is 2 there and 3 here"):
        evaluate(FakeModel(), fake_data(3), orders=1, resume=record)
    with pytest.raises(ValueError, match="data is fakes there and others here"):
        evaluate(FakeModel(), replace(fake_data(2), name="others"), orders=1, resume=record)
    model = FakeModel()
    model.name = "other"
    with pytest.raises(ValueError, match="model is fake there and other here"):
        evaluate(model, fake_data(2), orders=1, resume=record)


@pytest.mark.parametrize(
    "content", ["hello", "hello\n", "[]\n", '{"model": "fake"}\n', "\n", '{"a": 1}\nx\n']
)
def test_what_is_no_record_is_refused_and_left_alone(tmp_path, content):
    record = tmp_path / "notes.txt"
    record.write_text(content)
    with pytest.raises(ValueError, match=r"notes\.txt is no record of an evaluation"):
        evaluate(FakeModel(), fake_data(2), orders=1, resume=record)
    assert record.read_text() == content


# ---- arguments ----


@pytest.mark.parametrize("n", [2, 3, 4, 8])
def test_orders_differ_as_far_as_there_are_as_many(n):
    orders = distinct_orders(n, 5, np.random.default_rng(0))
    assert len(orders) == 5
    assert all(sorted(order) == list(range(n)) for order in orders)
    assert len(set(orders)) == min(5, 2 if n == 2 else 5)


def test_methods_are_checked():
    assert check_methods([" vanilla", "pride", "vanilla"]) == ("vanilla", "pride")
    for names in (["vanila"], [], [""]):
        with pytest.raises(ValueError, match="methods must be some of vanilla, "):
            check_methods(names)


@pytest.mark.parametrize(("given", "says"), [({"orders": 0}, "orders must"), ({"seed": -1}, "seed must")])
def test_arguments_are_checked(given, says):
    with pytest.raises(ValueError, match=says):
        evaluate(FakeModel(), fake_data(1), **given)


def test_cases_need_a_target():
    data = fake_data(1)
    unlabelled = replace(data, loaders=(lambda: replace(data[0], target=None),))
    with pytest.raises(ValueError, match="Case 1 of the data has no target"):
        evaluate(FakeModel(), unlabelled, methods=["vanilla"])
