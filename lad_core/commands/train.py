"""``train``: the embedded checkpoints, from a seed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lad_core.commands import shared


def add(commands: argparse._SubParsersAction) -> None:
    parser = shared.add_command(
        commands,
        "train",
        "train scene-vlm and scene-vlm-fair from a seed, going on where an earlier run stopped",
        "python -m lad_core train --out assets --work runs/train",
        run,
    )
    parser.add_argument(
        "--out", default="assets", metavar="DIR", help="where the finished checkpoints go (assets)"
    )
    parser.add_argument(
        "--work", default="runs/train", metavar="DIR", help="folder for unfinished work (runs/train)"
    )
    parser.add_argument("--seed", type=int, default=7, help="of everything that is random (7)")


def run(args: argparse.Namespace) -> None:
    from lad_core.scenes.train import main_training

    def report(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    main_training(Path(args.work), Path(args.out), report, seed=args.seed)
