"""What the page keeps of a visitor, and the HTML that it makes of a result."""

import copy
import re
from dataclasses import replace

import numpy as np
import pytest
from made_results import make
from PIL import Image

from lad_core.case import Case
from lad_core.page import analysis, html
from lad_core.page.analysis import Knobs
from lad_core.page.state import MOST_RUNS, Session
from lad_core.page.uploads import read_upload
from lad_core.page.view import View, finding

COLOURS = ("red", "green", "blue", "white", "black", "orange")


def session(n=4, query="a red field", **changes):
    images = tuple(Image.new("RGB", (40 + 10 * i, 50), COLOURS[i]) for i in range(n))
    return Session.of(Case(query, images, **changes), "scene-vlm")


def asked(n=4, **changes):
    """A session whose present order has been run, with its view."""
    result = make(n)
    found = session(n, **changes).observed(result.observation)
    return View(found, result)


def words(markup):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", markup)).strip()


# ---- the session ----


def test_a_run_belongs_to_its_order():
    first = session().observed(make(4).observation)
    assert first.run.observation is first.runs[0].observation
    moved = first.with_order((1, 0, 2, 3))
    assert moved.run is None
    assert len(moved.runs) == 1
    assert moved.with_order(range(4)).run is first.runs[0]


def test_running_an_order_again_replaces_its_run():
    once = session().observed(make(4).observation)
    again = once.with_order((3, 2, 1, 0)).observed(make(4, seed=1).observation).with_order(range(4))
    newer = make(4, seed=2).observation
    runs = again.observed(newer).runs
    assert [run.case.order for run in runs] == [(3, 2, 1, 0), (0, 1, 2, 3)]
    assert runs[-1].observation is newer


def test_the_list_of_runs_is_bounded():
    now = session(5)
    for seed in range(40):
        now = now.with_order(np.random.default_rng(seed).permutation(5).tolist()).observed(
            make(5).observation
        )
    assert len(now.runs) == MOST_RUNS


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.with_query("a blue field"),
        lambda s: s.with_model("scene-vlm-fair"),
        lambda s: s.with_identifiers("letters"),
        lambda s: s.with_case(session(3).case),
    ],
)
def test_another_question_starts_a_new_list(change):
    assert change(session().observed(make(4).observation)).runs == ()


def test_the_same_question_keeps_the_list():
    now = session().observed(make(4).observation)
    assert now.with_query("a red field").with_model("scene-vlm").with_identifiers("numbers") is now


def test_the_selection_stays_on_its_picture():
    view = View(session().with_order((2, 3, 1, 0)), selected=1)
    assert re.findall(r"aria-pressed='(\w+)'", html.seats(view)) == ["false", "false", "true", "false"]


def test_moving_a_picture_stops_at_the_ends():
    now = session().with_moved(0, -1)
    assert now.case.order == (0, 1, 2, 3)
    assert now.with_moved(0, 1).with_moved(0, 1).case.order == (1, 2, 0, 3)


def test_acting_on_no_selection_says_what_to_do():
    with pytest.raises(ValueError, match="Choose a picture first"):
        session().with_moved(None, 1)


def test_marking_the_right_picture_reaches_the_past_runs():
    now = session().observed(make(4).observation).with_order((3, 2, 1, 0)).with_target(2)
    assert now.case.target == 2
    assert now.runs[0].case.target_seat == 2


def test_sessions_are_shared_by_copies_since_nothing_in_them_changes():
    now = session()
    assert copy.deepcopy(now) is now


# ---- the knobs ----


def test_knobs_count_layers_from_one_and_take_them_in_either_order():
    knobs = Knobs(2, 5.0, 6, 3, "paper")
    assert knobs.settings.layers == (2, 3, 4, 5)
    assert Knobs.of(knobs.settings, 12) == Knobs(2, 5.0, 3, 6, "paper")


# ---- the HTML ----


def test_the_verdict_is_one_sentence_with_every_number():
    view = asked(target=2)
    result = view.debiased
    said = float(np.exp(result.observation.log_probs[result.vanilla]))
    verb = "and" if result.vanilla == result.looked_at else "but"
    sentence = words(html.verdict(view)).replace(" .", ".")
    assert (
        f"Looks at image {result.looked_at + 1} (π = {result.posterior.max():.2f}) {verb} says "
        f"{result.vanilla + 1} ({said:.2f}). Debiased: {result.prediction + 1}. Right answer: 3." in sentence
    )


@pytest.mark.parametrize(
    ("raw", "looks", "debiased", "target", "words"),
    [
        (0, 1, 1, 1, "Looks right, says wrong; corrected"),
        (1, 1, 1, 1, "Says it right, with and without"),
        (1, 0, 0, 1, "the correction spoils it"),
        (0, 0, 0, 1, "attention itself is fooled"),
        (0, 1, 0, 1, "not corrected"),
        (0, 0, 1, 1, "corrected all the same"),
        (0, 1, 1, None, "differ; which image is right is left open"),
        (1, 1, 1, None, "agree; which image is right is left open"),
    ],
)
def test_findings(raw, looks, debiased, target, words):
    def prefer(seat):
        return np.log(np.where(np.arange(4) == seat, 0.7, 0.1))

    observation = replace(make(4).observation, log_probs=prefer(raw))
    result = replace(
        make(4), observation=observation, posterior=np.exp(prefer(looks)), scores=prefer(debiased)
    )
    assert words in finding(View(session(target=target), result))[0]


def test_without_a_calibration_the_raw_answer_is_shown_and_nothing_else():
    observation = make(4).observation
    view = View(session(target=0).observed(observation), observation)
    assert "Says" in words(html.verdict(view))
    assert "π" not in html.verdict(view)
    assert "No calibration" in html.card(view, "debiased")
    assert set(view.measures) == {"raw", "looks"}
    assert "debiased" not in html.seats(view)


def test_before_the_first_run_the_page_says_what_to_do():
    view = View(session())
    assert "Press Run" in html.verdict(view)
    assert "picture 4" in html.seats(view)
    assert "No runs yet" in html.history([])


def test_seats_name_their_pictures_picks_and_numbers():
    view = asked(order=(2, 0, 3, 1), target=3)
    cells = html.seats(view).split("<div class='seat'>")[1:]
    assert [re.search(r"picture \d", words(cell)).group() for cell in cells] == [
        "picture 3",
        "picture 1",
        "picture 4",
        "picture 2",
    ]
    assert ["✓ right" in cell for cell in cells] == [False, False, True, False]
    for kind, flag in (("raw", "says"), ("looks", "looks"), ("debiased", "debiased")):
        flags = [f"flag {kind}'>{flag}" in cell for cell in cells]
        assert flags.index(True) == view.pick(kind)
        assert sum(flags) == 1
        numbers = [
            re.search(rf"class='word'>{flag}</span>.*?class='value'>([\d.]+)", cell, re.S).group(1)
            for cell in cells
        ]
        assert numbers == [f"{value:.2f}" for value in view.measures[kind].values]


def test_history_lists_each_order_with_both_answers_and_what_stayed():
    views = [asked(order=order, target=1) for order in ((0, 1, 2, 3), (3, 2, 1, 0))]
    text = words(html.history(views))
    assert text.index("3 2") < text.index("1 2 3 4") or text.index("4 3 2 1") < text.index("1 2 3 4")
    assert "2 different pictures" in text  # the same seat holds another picture in the reversed order


def test_what_a_visitor_writes_is_escaped():
    assert "<script>" not in html.notice("<script>alert(1)</script>")


def test_heat_follows_the_picture_and_the_strength():
    view = asked()
    heat = [np.full((3, 3), 0.5)] * 4
    assert html.seats(view, heat, 0.6).count("class='heat'") == 4
    assert "class='heat'" not in html.seats(view, heat, 0.0)


def test_variants_stand_side_by_side():
    views = [View(session(target=1), make(4, variant)) for variant in ("paper", "released", "ranked")]
    text = words(html.variants(views))
    for view in views:
        layers = ", ".join(str(layer + 1) for layer in view.debiased.selected_layers)
        assert f"{layers} {view.pick('looks') + 1} (" in text
    assert text.count("(") == 1 + 2 * 3  # the heading's "(π)", and two numbers in each row


def test_heat_of_the_selected_layers_is_not_that_of_a_single_one():
    result = make(4)
    view = View(session(), result)
    other = next(layer for layer in range(5) if layer not in result.selected_layers)
    shown = {
        layer: analysis.seats(view, Knobs(2, 5.0, 1, 5, "paper", heat_layer=layer))
        for layer in (0, 5, other + 1)
    }
    assert len(set(shown.values())) == 3


def test_a_single_upload_is_no_case():
    with pytest.raises(ValueError, match="here is one"):
        read_upload(["a.png"], "a fish", "numbers")
