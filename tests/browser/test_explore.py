"""The tab "Explore" as a visitor meets it: what is clicked and written, and what can be read afterwards."""

import io
import json
import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import expect

EXAMPLES = Path(__file__).parents[2] / "examples"
VERDICT = re.compile(
    r"Looks at image (\w+) \(π = [\d.]+\) (and|but) says (\w+) \([\d.]+\)\. Debiased: (\w+)\."
    r"( Right answer: (\w+)\.)?"
)


def text(page, selector):
    """What can be read there, on one line."""
    read = " ".join(page.locator(selector).first.inner_text().split())
    return re.sub(r" ([.,)])", r"\1", read)


def verdict(page):
    """(looked at, said, debiased, right or None) as the verdict says it."""
    found = VERDICT.search(text(page, "#verdict"))
    assert found, text(page, "#verdict")
    return found[1], found[3], found[4], found[6]


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def order_box(page):
    return page.get_by_label("Order: picture in seat")


def query_box(page):
    return page.get_by_label("Which picture shows")


def set_order(page, order):
    order_box(page).fill(order)
    order_box(page).press("Enter")
    expect(page.locator("#history")).to_contain_text(order.replace(", ", " "))


def pictures(page, kind):
    """The picture in each past run's answer, the latest first."""
    return page.locator(f"#history .answer.{kind} b").all_inner_texts()


def drag(page, what, onto):
    """As a hand does it: pressed, moved in steps, let go."""
    what.scroll_into_view_if_needed()
    start, end = what.bounding_box(), onto.bounding_box()
    page.mouse.move(start["x"] + 40, start["y"] + 40)
    page.mouse.down()
    page.mouse.move(start["x"] + 60, start["y"] + 45, steps=5)
    page.mouse.move(end["x"] + 40, end["y"] + 40, steps=10)
    page.mouse.up()


def png(colour="red", size=(80, 60)):
    stored = io.BytesIO()
    Image.new("RGB", size, colour).save(stored, "PNG")
    return stored.getvalue()


def upload(page, files):
    payload = [
        {
            "name": name,
            "mimeType": "image/png" if name.endswith("png") else "application/json",
            "buffer": content,
        }
        for name, content in files.items()
    ]
    page.locator("input[type=file]").first.set_input_files(payload)


# ---- the first screen ----


def test_first_screen_looks_right_says_wrong_and_is_corrected(page):
    looked, said, debiased, right = verdict(page)
    assert looked == debiased == right != said
    expect(page.locator("#verdict")).to_be_in_viewport()
    expect(page.locator(".seat .flag.raw")).to_have_text("says")
    expect(page.locator("#raw")).to_contain_text("✗ wrong")
    expect(page.locator("#debiased")).to_contain_text("✓ right")
    for figure in ("attention", "prior", "subtraction", "layers"):
        drawn = text(page, f"#figure-{figure}")
        assert "seat" in drawn
        assert "=" in drawn


# ---- seats ----


def test_raw_answer_changes_its_picture_while_the_debiased_one_stays(page):
    n = page.locator(".seat").count()
    first = list(range(1, n + 1))
    for shift in range(1, n):
        set_order(page, ", ".join(map(str, first[shift:] + first[:shift])))
    raw, debiased = pictures(page, "raw"), pictures(page, "debiased")
    assert len(raw) == n
    assert len(set(raw)) > 1
    assert len(set(debiased)) == 1
    expect(page.locator("#history")).to_contain_text(f"debiased: always {debiased[0]}")


def test_deal_mark_run_and_shuffle(page):
    before = query_box(page).input_value()
    page.get_by_label("Seed").fill("11")
    press(page, "Deal a fresh case")
    expect(query_box(page)).not_to_have_value(before)
    dealt = verdict(page)
    assert dealt[3], "a dealt case has a right answer"

    seat = "2" if dealt[3] == "1" else "1"
    page.get_by_role("button", name=re.compile(f"^Seat {seat}, picture")).click()
    press(page, "✓ This one is right")
    expect(page.locator("#verdict")).to_contain_text("Right answer")
    page.wait_for_function("(seat) => document.querySelector('.pill.target').innerText === seat", arg=seat)
    press(page, "Run")
    expect(page.locator("#history tbody tr")).to_have_count(1)

    order = order_box(page).input_value()
    press(page, "Shuffle seats")
    expect(page.locator("#history tbody tr")).to_have_count(2)
    assert sorted(order_box(page).input_value()) == sorted(order)
    assert order_box(page).input_value() != order
    press(page, "Leave open")
    expect(page.locator("#verdict")).not_to_contain_text("Right answer")


def test_a_picture_is_moved_by_keyboard_and_by_dragging(page):
    press(page, "First order")
    expect(order_box(page)).to_have_value(re.compile("^1, 2, 3"))
    page.get_by_role("button", name=re.compile("^Seat 1, picture 1")).press("Enter")
    expect(page.get_by_role("button", name=re.compile("^Seat 1, .*selected"))).to_be_visible()
    press(page, "Move right ▶")
    expect(order_box(page)).to_have_value(re.compile("^2, 1, 3"))
    drag(page, page.locator(".picture").nth(0), page.locator(".picture").nth(2))
    expect(order_box(page)).to_have_value(re.compile("^1, 3, 2"))


def test_every_rotation_is_listed(page):
    n = page.locator(".seat").count()
    order = order_box(page).input_value()
    press(page, "Try every rotation")
    expect(page.locator("#history tbody tr")).to_have_count(n, timeout=30_000)
    assert order_box(page).input_value() == order


def test_long_work_shows_where_it_is_and_can_be_stopped(slow_page):
    n = slow_page.locator(".seat").count()
    press(slow_page, "Try every rotation")
    expect(slow_page.locator("#message")).to_contain_text(f"Rotation 2 of {n}")
    press(slow_page, "Stop")
    expect(slow_page.locator("#message")).to_contain_text("Stopped")
    slow_page.wait_for_timeout(1500)
    expect(slow_page.locator("#message")).to_contain_text("Stopped")
    assert 2 <= slow_page.locator("#history tbody tr").count() < n
    verdict(slow_page)


# ---- the sliders ----


def test_sliders_redraw_the_figures_without_asking_the_model(page):
    def numbers(figure):
        return page.locator(f"#figure-{figure} .bartext").all_text_contents()

    def wait_until(figure, same, old):
        """Until the figure's numbers are, or are no longer, those of before."""
        read = f"[...document.querySelectorAll('#figure-{figure} .bartext')].map(t => t.textContent).join()"
        page.wait_for_function(f"(old) => ({read} === old) === {str(same).lower()}", arg=",".join(old))

    at_first = numbers("subtraction")
    runs = page.locator("#history tbody tr").count()
    page.get_by_label(re.compile("number input for τ")).fill("1")
    wait_until("subtraction", False, at_first)
    seen, looked = numbers("subtraction"), numbers("attention")
    page.get_by_label(re.compile("number input for K")).fill("1")
    wait_until("subtraction", False, seen)
    assert numbers("attention") != looked
    assert page.locator("#history tbody tr").count() == runs
    press(page, "Model's settings")
    wait_until("subtraction", True, at_first)


# ---- other models, names and cases ----


def test_the_fair_model_answers_the_same_pictures(page):
    page.get_by_label("scene-vlm-fair (control, without)").check()
    expect(page.locator("#message")).to_contain_text("scene-vlm-fair looked at")
    _, said, _, right = verdict(page)
    assert said == right


def test_seats_named_by_letters(page):
    page.get_by_label("letters A, B, C").check()
    expect(page.locator("#verdict")).to_contain_text(re.compile("Looks at image\\s+[A-L]"))
    expect(page.get_by_role("button", name=re.compile("^Seat A, picture"))).to_be_visible()


def test_every_shipped_example_opens_with_its_note(page):
    box = page.get_by_label("Example cases")
    paths = sorted(EXAMPLES.glob("*.json"))
    assert len(paths) >= 6
    for path in (*paths[1:], paths[0]):
        saved = json.loads(path.read_text(encoding="utf-8"))
        box.click()
        page.get_by_role("option", name=saved["title"]).click()
        expect(page.locator("#message")).to_contain_text(saved["note"])
        expect(query_box(page)).to_have_value(saved["query"])
        expect(page.locator(".seat")).to_have_count(len(saved["images"]))
        assert verdict(page)[3] is not None or saved["target"] is None


def test_a_word_that_the_model_does_not_know_is_named(page):
    query_box(page).fill("a red zebra")
    query_box(page).press("Enter")
    expect(page.locator("#message")).to_contain_text("zebra")
    assert query_box(page).input_value() == "a red zebra"


def test_uploaded_pictures_are_seated_and_run(page):
    upload(page, {"red.png": png("red"), "tall.png": png("green", (40, 90)), "blue.png": png("blue")})
    expect(page.locator("#message")).to_contain_text("Your pictures are seated")
    expect(page.locator(".seat")).to_have_count(3)
    query_box(page).fill("a red square")
    press(page, "Run")
    expect(page.locator("#message")).to_contain_text("looked at 3 pictures")
    assert verdict(page)[3] is None


def test_a_saved_case_is_uploaded_with_its_pictures(page):
    saved = sorted(EXAMPLES.glob("*.json"))[1]
    content = json.loads(saved.read_text(encoding="utf-8"))
    pictures = {name: (saved.parent / name).read_bytes() for name in content["images"]}
    upload(page, {saved.name: saved.read_bytes(), **pictures})
    expect(query_box(page)).to_have_value(content["query"])
    expect(page.locator(".seat")).to_have_count(len(content["images"]))
    verdict(page)


def test_a_saved_case_of_another_version(page):
    before = text(page, "#verdict")
    upload(page, {"case.json": json.dumps({"format": "lad-case", "version": 99}).encode()})
    expect(page.locator("#message .notice.warning")).to_contain_text(
        "case.json is a saved case of version 99"
    )
    assert text(page, "#verdict") == before


# ---- bad input: one sentence, and what was entered is still there ----


@pytest.mark.parametrize(
    ("query", "said"),
    [("", "query"), ("   ", "query"), ("fish " * 2000, "2,?000")],
    ids=["empty", "blank", "long"],
)
def test_a_query_that_is_none(page, query, said):
    before = text(page, "#verdict")
    query_box(page).fill(query)
    press(page, "Run")
    expect(page.locator("#message .notice")).to_contain_text(re.compile(said))
    assert query_box(page).input_value() == query
    assert text(page, "#verdict") == before


@pytest.mark.parametrize("order", ["1, 2", "1, 1, 2, 3, 4, 5, 6, 7", "fish", "0, 1, 2, 3, 4, 5, 6, 7"])
def test_an_order_that_is_no_permutation(page, order):
    before = text(page, "#verdict")
    order_box(page).fill(order)
    order_box(page).press("Enter")
    expect(page.locator("#message .notice.warning")).to_be_visible()
    assert order_box(page).input_value() == order
    assert text(page, "#verdict") == before


def huge():
    stored = io.BytesIO()
    Image.new("1", (12_000, 9_000)).save(stored, "PNG")
    return stored.getvalue()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"one.png": png()}, "2 to 12 pictures"),
        ({f"{i}.png": png() for i in range(13)}, "2 to 12 pictures"),
        ({"one.png": png(), "notes.png": b"not a picture"}, "notes.png"),
        ({"one.png": png(), "half.png": png(size=(400, 400))[:300]}, "half.png"),
        ({"one.png": png(), "huge.png": huge()}, "huge.png"),
    ],
    ids=["one", "thirteen", "no image", "truncated", "108 megapixels"],
)
def test_pictures_that_make_no_case(page, files, said):
    before, query = text(page, "#verdict"), query_box(page).input_value()
    upload(page, files)
    expect(page.locator("#message .notice.warning")).to_contain_text(said)
    for name in list(files)[:3]:
        expect(page.get_by_text(name.removesuffix(".png"), exact=False).first).to_be_visible()
    assert text(page, "#verdict") == before
    assert query_box(page).input_value() == query


# ---- other screens ----


class TestOnAPhone:
    @pytest.fixture
    def screen(self):
        return {"viewport": {"width": 390, "height": 844}}

    def test_nothing_sticks_out(self, page):
        widths = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert widths[0] <= widths[1]
        for seat in page.locator(".seat").all():
            box = seat.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 390
        verdict(page)


class TestInTheDark:
    @pytest.fixture
    def screen(self):
        return {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"}

    def test_text_is_light_on_dark(self, page):
        shown = "(e) => getComputedStyle(e)"
        text_colour = page.locator(".sentence").evaluate(f"{shown}.color".replace("(e) => ", "e => ", 1))
        back = page.locator(".verdict").evaluate("e => getComputedStyle(e).backgroundColor")
        figure = page.locator("#figure-prior .xtick text").first.evaluate("e => getComputedStyle(e).fill")
        for light in (text_colour, figure):
            assert min(map(int, re.findall(r"\d+", light)[:3])) > 180
        assert max(map(int, re.findall(r"\d+", back)[:3])) < 80
