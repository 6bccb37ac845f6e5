"""``models``: which models are known by name, and which of them are here."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from lad_core.commands import shared

if TYPE_CHECKING:
    from lad_core.models.registry import ModelEntry


def add(commands: argparse._SubParsersAction) -> None:
    parser = shared.add_command(
        commands, "models", "list the models that are known by name", "python -m lad_core models", run
    )
    shared.add_json(parser)


def run(args: argparse.Namespace) -> None:
    from lad_core.models.registry import MODELS

    listed = [asdict(entry) | {"status": status(entry)} for entry in MODELS]
    if args.json:
        shared.print_json(listed)
    else:
        columns = ("name", "family", "parameters", "licence", "status", "note")
        print(
            shared.table(
                columns, ([entry[column] for column in columns] for entry in listed), left=len(columns)
            )
        )


def status(entry: ModelEntry) -> str:
    """``embedded``, ``missing`` (an embedded one without its files), ``downloaded`` or ``not downloaded``."""
    if entry.embedded:
        return "embedded" if (Path(entry.source) / "config.json").is_file() else "missing"
    from huggingface_hub import try_to_load_from_cache

    weights = ("model.safetensors", "model.safetensors.index.json")
    here = any(isinstance(try_to_load_from_cache(entry.source, name), str) for name in weights)
    return "downloaded" if here else "not downloaded"
