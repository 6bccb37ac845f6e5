"""``deal``: fresh cases from the embedded model's world, written as an annotation file."""

from __future__ import annotations

import argparse

from lad_core.commands import shared
from lad_core.datasets import SCENES, open_dataset, write_annotations
from lad_core.scenes.deal import SETTINGS


def add(commands: argparse._SubParsersAction) -> None:
    parser = shared.add_command(
        commands,
        "deal",
        "draw fresh cases and write them with the released code's annotation file",
        "python -m lad_core deal --n 8 --setting adversarial --cases 20 --seed 3 --out dealt",
        run,
    )
    parser.add_argument("--n", type=int, default=8, help="images in each case, 2 to 12 (8)")
    parser.add_argument(
        "--setting", choices=SETTINGS, default="random", help="how near the distractors are (random)"
    )
    parser.add_argument("--cases", type=int, default=20, help="how many (20)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other cases (0)")
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="folder for annotations.json and its pictures"
    )


def run(args: argparse.Namespace) -> None:
    data = open_dataset(SCENES + args.setting, n=args.n, cases=args.cases, seed=args.seed)
    file = write_annotations(data, args.out)
    print(f"{len(data)} cases of {data.n} images in {file}")
