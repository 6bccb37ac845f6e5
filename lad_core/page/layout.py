"""Where things stand in the tab "Explore". Only layout: the events are in :mod:`lad_core.page.explore`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import gradio as gr

from lad_core.calibration import VARIANTS
from lad_core.page import words
from lad_core.page.analysis import Knobs, Screen
from lad_core.page.state import Session

ASSETS = Path(__file__).parents[2] / "assets" / "page"


class Layout:
    """The components of the tab, as attributes, laid out around a first session and its screen."""

    def __init__(
        self,
        first: Session,
        shown: Screen,
        message: str,
        knobs: Knobs,
        n_layers: int,
        models: Sequence[str],
        titles: Mapping[str, str],
    ):
        self.state, self.selected = gr.State(first), gr.State(None)
        self._finding(first, shown, message, titles)
        self._seat_tools(first, knobs, n_layers)
        self._answers(shown)
        self._new_case(first, models)
        self._evidence(shown, knobs, n_layers)
        with gr.Accordion("How it works", open=False, elem_id="how"):
            _html(words.METHOD, elem_id="method")

    @property
    def knobs(self) -> list:
        """The inputs of :class:`Knobs`, in the order of its fields."""
        return [
            self.top_k,
            self.temperature,
            self.first_layer,
            self.last_layer,
            self.variant,
            self.purified,
            self.heat_layer,
            self.heat,
            self.selected,
        ]

    @property
    def screen(self) -> list:
        """The outputs of :class:`Screen`, in the order of its fields."""
        return [self.verdict, self.seats, self.raw, self.debiased, self.history, *self.plots, self.variants]

    @property
    def seat_buttons(self) -> list:
        """What acts on the selected picture."""
        return [self.left, self.right, self.mark]

    def _finding(self, first: Session, shown: Screen, message: str, titles: Mapping[str, str]) -> None:
        self.verdict = _html(shown.verdict, elem_id="verdict")
        with gr.Row(elem_classes="tools", equal_height=True):
            self.query = gr.Textbox(
                first.case.query, label="Which picture shows …", scale=6, min_width=260, elem_id="query"
            )
            self.run = gr.Button("Run", variant="primary", scale=1, min_width=110)
            choices = [(title, stem) for stem, title in titles.items()]
            self.example = gr.Dropdown(
                choices, value=first.case.id, label="Example cases", scale=4, min_width=260
            )
        self.message = _html(message, elem_id="message")
        script = (ASSETS / "seats.js").read_text(encoding="utf-8")
        self.seats = _html(shown.seats, elem_id="seats", js_on_load=script)

    def _seat_tools(self, first: Session, knobs: Knobs, n_layers: int) -> None:
        with gr.Row(elem_classes="tools"):
            self.shuffle = gr.Button("Shuffle seats", variant="primary", min_width=130)
            self.rotate = gr.Button("Rotate by one", min_width=120)
            self.reverse = gr.Button("Reverse", min_width=90)
            self.restore = gr.Button("First order", min_width=110)
            self.rotations = gr.Button("Try every rotation", min_width=150)
            self.stop = gr.Button("Stop", interactive=False, min_width=70)
        with gr.Row(elem_classes="tools", equal_height=True):
            self.left = gr.Button("◀ Move left", interactive=False, min_width=110)
            self.right = gr.Button("Move right ▶", interactive=False, min_width=110)
            self.mark = gr.Button("✓ This one is right", interactive=False, min_width=160)
            self.leave_open = gr.Button("Leave open", min_width=100)
            self.order = gr.Textbox(
                order_text(first), label="Order: picture in seat 1, 2, …", max_lines=1, min_width=190
            )
            self.heat = gr.Slider(0, 1, knobs.heat, step=0.05, label="Show attention", min_width=170)
            self.heat_layer = gr.Dropdown(layer_choices(n_layers), value=0, label="in layers", min_width=130)

    def _answers(self, shown: Screen) -> None:
        with gr.Row(elem_classes="cards"):
            self.raw = _html(shown.raw, min_width=300, elem_id="raw")
            self.debiased = _html(shown.debiased, min_width=300, elem_id="debiased")
            self.history = _html(shown.history, min_width=340, elem_id="history")

    def _new_case(self, first: Session, models: Sequence[str]) -> None:
        _html(words.NEW_CASE, elem_id="new-case")
        with gr.Row(elem_classes="panels"):
            with gr.Column(min_width=320):
                _html(words.DEAL)
                with gr.Row():
                    self.n = gr.Slider(2, 12, first.case.n, step=1, label="Pictures", min_width=150)
                    self.seed = gr.Number(1, label="Seed", precision=0, minimum=0, min_width=90)
                self.setting = gr.Radio(words.SETTINGS, value="random", label="The other pictures are")
                with gr.Row():
                    self.deal_seed = gr.Button("Deal a fresh case", variant="primary", min_width=150)
                    self.deal_next = gr.Button("Next seed", min_width=110)
            with gr.Column(min_width=320):
                _html(words.UPLOAD)
                self.files = gr.File(file_count="multiple", label="2 to 12 pictures", height=200)
            with gr.Column(min_width=320):
                _html(words.MODEL)
                self.model = gr.Radio(words.model_choices(models), value=first.model, label="Model")
                self.naming = gr.Radio(words.NAMINGS, value=first.identifiers, label="Seats are named by")

    def _evidence(self, shown: Screen, knobs: Knobs, n_layers: int) -> None:
        _html(words.EVIDENCE, elem_id="evidence")
        with gr.Row(elem_classes="tools knobs", equal_height=True):
            self.temperature = gr.Slider(
                0.5, 20, knobs.temperature, step=0.5, label="τ, sharpness", min_width=150
            )
            self.top_k = gr.Slider(1, n_layers, knobs.top_k, step=1, label="K, layers", min_width=150)
            self.first_layer = gr.Slider(
                1, n_layers, knobs.first_layer, step=1, label="from layer", min_width=150
            )
            self.last_layer = gr.Slider(
                1, n_layers, knobs.last_layer, step=1, label="to layer", min_width=150
            )
            variants = [(words.VARIANTS[variant], variant) for variant in VARIANTS]
            self.variant = gr.Dropdown(variants, value=knobs.variant, label="Variant", min_width=230)
            self.purified = gr.Dropdown(
                [("purified", 1), ("raw", 0)], value=1, label="Attention shown", min_width=130
            )
            self.reset = gr.Button("Model's settings", min_width=130)
        self.plots = []
        for row in (("attention", "prior"), ("subtraction", "layers")):
            with gr.Row(elem_classes="panels"):
                for name in row:
                    with gr.Column(min_width=340):
                        plot = gr.Plot(
                            getattr(shown, name), show_label=False, container=False, elem_id=f"figure-{name}"
                        )
                        self.plots.append(plot)
                        _html(words.explanation(name))
        self.variants = _html(shown.variants)


def order_text(session: Session) -> str:
    """The order as people write it: the picture in seat 1, 2, …"""
    return ", ".join(str(image + 1) for image in session.case.order)


def layer_choices(n_layers: int) -> list[tuple[str, int]]:
    """The layers whose attention can be laid over the pictures; 0 stands for the selected ones."""
    return [("selected", 0), *((f"layer {layer}", layer) for layer in range(1, n_layers + 1))]


def _html(value: str, **options) -> gr.HTML:
    return gr.HTML(value, apply_default_css=False, **options)
