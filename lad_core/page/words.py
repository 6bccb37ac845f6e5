"""What the page says that does not depend on a case: headings, choices, explanations."""

from __future__ import annotations

from collections.abc import Sequence

TITLE = "Looks right, says wrong"
SETTINGS = [("any scenes", "random"), ("near misses", "adversarial")]
NAMINGS = [("numbers 1, 2, 3", "numbers"), ("letters A, B, C", "letters")]
VARIANTS = {
    "paper": "as the paper writes it",
    "released": "as its released code does it",
    "ranked": "paper, layers ranked by calibration",
}

HEADER = f"""
<header class='masthead'>
<h1>{TITLE}</h1>
<nav aria-label='On this page'>
<a href='#new-case'>Another case</a><a href='#evidence'>The evidence</a><a href='#how'>How it works</a>
</nav>
<p>Asked which of several pictures fits a caption, a vision-language model often <em>looks</em> at the right
picture and <em>says</em> another one's number, because of where the pictures sit. Here are both sides of it,
and its repair.</p>
<p class='small'>The model, <b>scene-vlm</b>, is a small one that we trained on drawn scenes, with a habit of
favouring some seats planted on purpose. Its control, <b>scene-vlm-fair</b>, has no such habit.</p>
</header>
"""

NEW_CASE = "<h2 class='section'>Another case</h2>"
DEAL = """
<h3>Deal a fresh one</h3>
<p>Newly drawn pictures with a caption for one of them. <em>Near misses</em> differ from it in a colour, a
thing, or the order of the two.</p>
"""
UPLOAD = """
<h3>Or bring your own pictures</h3>
<p>PNG, JPEG, WebP or GIF; or a saved case, its JSON file with its pictures. The embedded model knows drawn
scenes only; photos are for models from the Hub.</p>
"""
MODEL = """
<h3>Who is asked, and how</h3>
<p>Change the model or the names of the seats, and the same pictures are asked about again.</p>
"""
EVIDENCE = """
<h2 class='section'>The evidence</h2>
<p class='lead'>Everything below comes from the same single pass through the model. The sliders redraw it
without asking the model again.</p>
"""

FIGURES = {
    "attention": """
How much each picture is looked at while the model is about to answer. Hatched: as measured, a. Grey: how much
that seat is looked at whatever it holds, â. π compares the two, so that what is left comes from the pictures;
τ says how sharply.
""",
    "prior": """
Suppose the model did not compare the pictures and only followed its habit, given where the right one
probably sits (π): this is what it would say. The more the two bars are alike, the more of the answer is
habit.
""",
    "subtraction": """
The correction, seat by seat. What the model said, minus what habit explains, leaves what it saw. A seat
that is favoured anyway loses most.
""",
    "layers": """
Each row is one layer of the model. Framed rows are used for π: in the layer range, those with the largest S, or
with the most hits where layers are ranked. The green diamond, hits, says how often that layer alone finds the
right picture on calibration cases: so you can see whether S chose well.
""",
}

METHOD = """
<p>The answer mixes what the model saw with a habit of saying certain seats. The habit itself depends on
where the right picture sits, so one fixed correction cannot remove it. Instead:</p>
<ol>
<li><b>Calibrate once.</b> Rotate five cases through all N seats: how often is seat j said when the right
picture sits at i? (P̂<sub>obs</sub>)</li>
<li><b>Split off the habit.</b> Take the recognition gain γ off the diagonal of that table; what remains is
P̂<sub>bias</sub>(j given i).</li>
<li><b>Look inside.</b> Read the attention of the last token on each picture, layer by layer: a.</li>
<li><b>Purify it.</b> Divide by what each seat receives on average, â<sub>prior</sub>, so that only the
pictures' own pull is left.</li>
<li><b>Choose layers.</b> In the layer range, keep the K layers that look at pictures most (S).</li>
<li><b>Believe the eyes.</b> Their purified attention gives π: where the right picture probably sits.</li>
<li><b>Predict the habit.</b> Mix the rows of P̂<sub>bias</sub> by π: what habit alone would answer here,
P<sub>prior</sub>.</li>
<li><b>Subtract.</b> log P<sub>vis</sub> = log P<sub>obs</sub> − log P<sub>prior</sub>. Its largest entry is
the debiased answer.</li>
</ol>
<p class='small'>Xian, Yang, Gu, Wang, Ye, “Logit-Attention Divergence: Mitigating Position Bias in
Multi-Image Retrieval via Attention-Guided Calibration”, ICML 2026, arXiv 2605.11591.</p>
"""


def explanation(figure: str) -> str:
    """What stands under a figure, for someone who sees it for the first time."""
    return f"<p class='what'><b>What is this?</b> {FIGURES[figure]}</p>"


def model_choices(names: Sequence[str]) -> list[tuple[str, str]]:
    """The models by name, with what the embedded ones are."""
    notes = {"scene-vlm": " (with the habit)", "scene-vlm-fair": " (control, without)"}
    return [(name + notes.get(name, ""), name) for name in names]
