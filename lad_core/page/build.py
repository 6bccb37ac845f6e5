"""The page as a whole: its model, its first session, its tabs and its look."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from lad_core.page import words
from lad_core.page.explore import Explore, open_saved
from lad_core.page.layout import ASSETS
from lad_core.page.models import EMBEDDED, Models
from lad_core.saved_cases import list_examples, load_case

EXAMPLES = Path(__file__).parents[2] / "examples"
FONTS = ("Segoe UI", "Roboto", "Helvetica Neue", "Liberation Sans", "Arial", "sans-serif")  # the system's own
MONO = ("ui-monospace", "Consolas", "Liberation Mono", "monospace")


def build_page(
    model: str = EMBEDDED[0], *, load: Callable[[str], Any] | None = None, examples: Path = EXAMPLES
) -> gr.Blocks:
    """The page; its first screen is the first of ``examples``, answered by ``model``.

    ``load`` gives a model by its name; :func:`lad_core.models.load_model` if not given.
    """
    if load is None:
        from lad_core.models import load_model as load  # torch is imported only where a model is wanted
    models = Models(dict.fromkeys((model, *EMBEDDED)), load)
    shipped = {path.stem: load_case(path).title for path in list_examples(examples)}
    first, note = open_saved(examples, next(iter(shipped)), model)
    first = first.observed(models.get(model).observe(first.case, identifiers=first.identifiers))
    with gr.Blocks(title=words.TITLE, analytics_enabled=False, fill_width=True) as page:
        gr.HTML(words.HEADER, apply_default_css=False)
        with gr.Tabs(), gr.Tab("Explore", id="explore"):
            Explore(models, first, note, examples, shipped)
    return page


def launch_options() -> dict[str, Any]:
    """What :meth:`gradio.Blocks.launch` has to be given for the page to look as it should."""
    style = (ASSETS / "style.css").read_text(encoding="utf-8")
    return {
        "theme": theme(),
        "head": f"<style>{style}</style>",  # Gradio's own css option drops container queries
        "footer_links": [],
        "run_history": False,
        "show_error": True,
        "max_file_size": "40mb",
    }


def theme() -> gr.themes.Base:
    """Calm and plain: no frames around single controls, no font from elsewhere."""
    return gr.themes.Default(
        primary_hue="blue", neutral_hue="slate", font=FONTS, font_mono=MONO, radius_size="lg"
    ).set(
        block_background_fill="transparent",
        block_background_fill_dark="transparent",
        block_border_width="0px",
        block_border_width_dark="0px",
        block_shadow="none",
        block_padding="0px",
        block_title_text_color="*neutral_600",
        block_title_text_color_dark="*neutral_300",
        block_title_text_size="*text_md",
        button_primary_background_fill="#0072b2",
        button_primary_background_fill_hover="#005f95",
        button_primary_background_fill_dark="#0072b2",
        button_primary_background_fill_hover_dark="#2289c4",
        slider_color="#0072b2",
        slider_color_dark="#2f93cf",
        body_background_fill_dark="#0b101a",
    )
