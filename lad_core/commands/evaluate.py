"""``evaluate``: data set x methods x orders, as a table or JSON."""

from __future__ import annotations

import argparse

from lad_core.calibration import Calibration
from lad_core.commands import shared
from lad_core.datasets import open_dataset
from lad_core.evaluate import DEFAULT_METHODS, Evaluation, check_methods, evaluate
from lad_core.methods import METHODS


def add(commands: argparse._SubParsersAction) -> None:
    parser = shared.add_command(
        commands,
        "evaluate",
        "measure accuracy, RStd and consistency of methods over random orders",
        "python -m lad_core evaluate --data scenes:random --n 8 --cases 200 --orders 5 \\\n"
        "      --methods vanilla,attention,purified,pride,debiased --seed 7",
        run,
    )
    shared.add_model(parser)
    shared.add_data(parser)
    parser.add_argument("--n", type=int, help="images in each case; longer ones are cut (8 for scenes)")
    parser.add_argument("--cases", type=int, help="how many cases (200 for scenes, else all)")
    parser.add_argument("--orders", type=int, default=5, help="random orders of each case (5)")
    parser.add_argument(
        "--methods",
        default=",".join(DEFAULT_METHODS),
        metavar="NAMES",
        help=f"one or more of {', '.join(METHODS)}, with commas ({','.join(DEFAULT_METHODS)})",
    )
    parser.add_argument("--seed", type=int, default=7, help="of orders and of dealt scenes (7)")
    shared.add_identifiers(parser)
    parser.add_argument(
        "--resume",
        metavar="FILE",
        help="keep each case's decisions in FILE (JSON lines) and go on from there",
    )
    shared.add_settings(parser)
    shared.add_json(parser)


def run(args: argparse.Namespace) -> None:
    methods = check_methods(args.methods.split(","))
    data = open_dataset(args.data, n=args.n, cases=args.cases, seed=args.seed, image_root=args.image_root)
    if args.cases is not None and len(data) < args.cases:
        shared.warn(f"{data.name} has {len(data)} cases, fewer than the {args.cases} that were asked for.")
    own_calibration = Calibration.load(args.calibration) if args.calibration else None
    from lad_core.models import load_model

    model = load_model(args.model)
    found = evaluate(
        model,
        data,
        methods=methods,
        orders=args.orders,
        seed=args.seed,
        identifiers=args.identifiers,
        settings=shared.settings_of(args, model.settings),
        calibration=own_calibration,
        resume=args.resume,
        progress=shared.ProgressLine(),
    )
    if args.json:
        shared.print_json(found.as_json())
    else:
        print(as_text(found))


def as_text(found: Evaluation) -> str:
    """What was measured, and one line per method."""
    rows = [
        [
            result.method,
            f"{result.accuracy:.2f} ± {result.accuracy_std:.2f}",
            f"{result.rstd:.2f}",
            f"{result.consistency:.2f}",
            f"{result.forward_passes:g}",
            f"{result.seconds:.3f}",
        ]
        for result in found.results
    ]
    lines = [
        f"{found.model} on {found.data}: {found.cases} cases of {found.n} images, "
        f"{found.orders} orders each, seed {found.seed}",
        f"calibration: {found.calibration or 'none'}",
        "",
        shared.table(["method", "accuracy", "RStd", "consistency", "passes", "seconds"], rows),
        "",
        "Percent, ± the deviation over the orders; passes and seconds are per answer.",
    ]
    if found.divergence is not None:
        lines.append(
            f"Attention is right and the raw answer wrong in {found.divergence:.1f} % of the answers."
        )
    return "\n".join(lines)
