"""``calibrate``: learn a model's habit for one N from a few labelled cases."""

from __future__ import annotations

import argparse
from pathlib import Path

from lad_core.calibration import calibrate
from lad_core.commands import shared
from lad_core.datasets import cases_to_calibrate_on, open_dataset
from lad_core.debias import VARIANTS


def add(commands: argparse._SubParsersAction) -> None:
    parser = shared.add_command(
        commands,
        "calibrate",
        "observe a few labelled cases in all their rotations and write the calibration",
        "python -m lad_core calibrate --model scene-vlm --n 8 --out scene-vlm-8.json",
        run,
    )
    shared.add_model(parser)
    parser.add_argument(
        "--n", type=int, help="images in each case, 2 to 12 (8 for scenes, else as in the data)"
    )
    shared.add_data(parser)
    parser.add_argument("--cases", type=int, default=5, help="how many cases (5); each is seen n times")
    parser.add_argument("--seed", type=int, default=0, help="which scenes are dealt (0)")
    parser.add_argument(
        "--variant", choices=VARIANTS, default="paper", help="which estimates are kept (paper)"
    )
    shared.add_identifiers(parser)
    parser.add_argument("--out", required=True, metavar="FILE", help="where to write it")


def run(args: argparse.Namespace) -> None:
    data = open_dataset(args.data, n=args.n, cases=args.cases, seed=args.seed, image_root=args.image_root)
    if args.data.startswith("scenes:"):
        cases, source = cases_to_calibrate_on(data, args.cases, args.seed)
    else:
        cases, source = data[:], f"the first {len(data)} cases of {data.name}"
    out = Path(args.out)
    if out.is_dir() or not out.resolve().parent.is_dir():
        raise ValueError(f"--out must be a file in a folder that is there, not {out}.")
    from lad_core.models import load_model

    model = load_model(args.model)
    progress = shared.ProgressLine()
    calibration = calibrate(
        model,
        cases,
        identifiers=args.identifiers,
        variant=args.variant,
        progress=lambda done, total: progress("passes", done, total),
    )
    calibration.save(args.out)
    for warning in calibration.warnings:
        shared.warn(warning)
    print(f"{model.name}, {data.n} images named by {args.identifiers}, from {source}: {args.out}")
