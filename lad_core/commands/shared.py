"""What several commands share: flags, readers of flags, output."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lad_core.debias import VARIANTS, Settings
from lad_core.prompts import IDENTIFIER_FORMATS


def add_command(
    commands: argparse._SubParsersAction, name: str, does: str, example: str, run: Callable[[Any], None]
) -> argparse.ArgumentParser:
    """A subcommand whose help says in one line what it does, and ends with an example."""
    parser = commands.add_parser(
        name,
        help=does,
        description=does[0].upper() + does[1:] + ".",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        default="scene-vlm",
        metavar="NAME",
        help="a name that `models` lists, an id on the Hub, or a folder with a checkpoint (scene-vlm)",
    )


def add_identifiers(parser: argparse.ArgumentParser, default: str | None = "numbers") -> None:
    parser.add_argument(
        "--identifiers",
        choices=IDENTIFIER_FORMATS,
        default=default,
        help="how the seats are named to the model (numbers)",
    )


def add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        default="scenes:random",
        help="scenes:random, scenes:adversarial, an annotation file of the released code, "
        "or a folder with one or with saved cases (scenes:random)",
    )
    parser.add_argument(
        "--image-root", metavar="DIR", help="where the annotation file's images are (beside it)"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Flags for :class:`Settings`; what is not given is left as the model's own settings say."""
    group = parser.add_argument_group(
        "the correction", "Default: the settings that ship with the model, else the paper's."
    )
    group.add_argument("--top-k", type=int, metavar="K", help="how many layers are selected")
    group.add_argument("--temperature", type=float, metavar="T", help="τ, which sharpens the posterior")
    group.add_argument(
        "--layers",
        metavar="FIRST-LAST",
        help="layers to select from, counted from 0 as in `selected_layers`, both ends included; or all",
    )
    group.add_argument(
        "--variant", choices=VARIANTS, help="the paper's, the released code's, or ranked layers"
    )
    group.add_argument("--calibration", metavar="FILE", help="a calibration that `calibrate` wrote")


def settings_of(args: argparse.Namespace, own: Settings) -> Settings:
    """The model's own settings with the flags that were given."""
    given = {name: getattr(args, name) for name in ("top_k", "temperature", "variant")}
    changes = {name: value for name, value in given.items() if value is not None}
    if args.layers is not None:
        changes["layers"] = parse_layers(args.layers)
    return replace(own, **changes)


def parse_layers(text: str) -> range | None:
    """``"4-5"`` -> layers 4 and 5, ``"5"`` -> layer 5, ``"all"`` -> None."""
    if text == "all":
        return None
    first, dash, last = text.partition("-")
    last = last if dash else first
    if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise ValueError(f'--layers must be a range such as 4-5, one layer or "all", not {text!r}.')
    return range(int(first), int(last) + 1)


def print_json(value: dict | list) -> None:
    print(lay_out(plain(value)))


def lay_out(value: Any, depth: int = 0) -> str:
    """JSON that people can read too: lists of plain numbers and names stay on one line."""
    pad = "  " * (depth + 1)
    if isinstance(value, dict):
        items = [f"{pad}{json.dumps(key)}: {lay_out(item, depth + 1)}" for key, item in value.items()]
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        items = [pad + lay_out(item, depth + 1) for item in value]
    else:
        return json.dumps(value, ensure_ascii=False)
    first, last = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([first, ",\n".join(items), pad[2:] + last])


def plain(value: Any) -> Any:
    """The same in what JSON knows; numbers that are not finite become null."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Columns of text; the first ``left`` of them are set left, the others right."""
    lines = [list(map(str, line)) for line in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

    def row(cells: list[str]) -> str:
        sides = [str.ljust] * left + [str.rjust] * (len(cells) - left)
        return "  ".join(side(cell, w) for side, cell, w in zip(sides, cells, widths, strict=True)).rstrip()

    return "\n".join(map(row, lines))


def warn(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr)


class ProgressLine:
    """``progress(what, done, total)`` on stderr: one line of a terminal, or a line at each tenth."""

    def __init__(self):
        self.began: dict[str, tuple[float, int]] = {}  # what -> when, and how many were done then

    def __call__(self, what: str, done: int, total: int) -> None:
        since, first = self.began.setdefault(what, (time.monotonic(), done))
        left = (time.monotonic() - since) / max(done - first, 1) * (total - done)
        text = f"{what} {done}/{total}" + (f", {left:.0f} s left" if first < done < total else "")
        if sys.stderr.isatty():
            print(f"\r{text:<50}", end="\n" if done == total else "", file=sys.stderr, flush=True)
        elif done == total or done * 10 // total > (done - 1) * 10 // total:
            print(text, file=sys.stderr, flush=True)
