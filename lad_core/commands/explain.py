"""``explain``: one case, seen from all sides."""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from lad_core.calibration import Calibration
from lad_core.case import Case, parse_order
from lad_core.commands import shared
from lad_core.debias import Debiased, debias
from lad_core.images import open_image
from lad_core.observation import Observation
from lad_core.saved_cases import load_case
from lad_core.verdict import raw_verdict, seat_names, verdict


def add(commands: argparse._SubParsersAction) -> None:
    parser = shared.add_command(
        commands,
        "explain",
        "show what a model says about one case, what it looks at, and the debiased answer",
        'python -m lad_core explain --query "a red fish" --images a.png b.png c.png --order 3,1,2 --target 2',
        run,
    )
    parser.add_argument("--query", metavar="TEXT", help="what to look for")
    parser.add_argument("--images", nargs="*", metavar="FILE", help="2 to 12 pictures, in their first order")
    parser.add_argument(
        "--order", help="which image sits in seat 1, 2, ...: 3,1,2 (default: the first order)"
    )
    parser.add_argument("--target", type=int, metavar="IMAGE", help="which image is right, counted from 1")
    parser.add_argument("--case", metavar="FILE", help="a saved case in place of --query and --images")
    shared.add_model(parser)
    shared.add_identifiers(parser, default=None)
    shared.add_settings(parser)
    shared.add_json(parser)
    parser.set_defaults(model=None)


def run(args: argparse.Namespace) -> None:
    case, identifiers, model_name = read_case(args)
    calibration = Calibration.load(args.calibration) if args.calibration else None
    from lad_core.models import load_model

    model = load_model(model_name)
    settings = shared.settings_of(args, model.settings)
    observation = model.observe(case, identifiers=identifiers)
    calibration = calibration or model.calibration(case.n, identifiers)
    result = None if calibration is None else debias(observation, calibration, settings)
    warnings = [f"{model.name} does not know the word {word!r}." for word in model.unknown_words(case.query)]
    if result is None:
        warnings.append(
            f"{model.name} has no calibration for {case.n} images named by {identifiers}, so only its raw "
            f"answer is shown: make one with `calibrate --model {model_name} --n {case.n} "
            f"--identifiers {identifiers}` and give it with --calibration."
        )
    else:
        warnings += result.warnings
    for warning in warnings:
        shared.warn(warning)
    if args.json:
        found = as_json(case, observation, result)
        shared.print_json({"model": model.name, "identifiers": identifiers, **found, "warnings": warnings})
    else:
        print(as_text(case, observation, result, args.images))


def read_case(args: argparse.Namespace) -> tuple[Case, str, str]:
    """The case of the flags, how its seats are named, and the model's name."""
    if args.case:
        if args.images is not None:
            raise ValueError("Give either --case or --images, not both.")
        saved = load_case(args.case)
        case, identifiers, model = saved.case, saved.identifiers, saved.model
        if args.query is not None:
            case = replace(case, query=args.query)
    else:
        if args.query is None or args.images is None:
            raise ValueError("Give a --query and --images, or a saved case with --case.")
        case = Case(args.query, tuple(open_image(path) for path in args.images))
        identifiers, model = "numbers", "scene-vlm"
    if args.order is not None:
        case = case.with_order(parse_order(args.order, case.n))
    if args.target is not None:
        case = replace(case, target=args.target - 1)
    return case, args.identifiers or identifiers, args.model or model


def as_json(case: Case, observation: Observation, result: Debiased | None) -> dict:
    """Seats and images counted from 1, layers from 0; all lists over N are by seat, logarithms natural.

    Without a calibration, everything that needs one is null.
    """
    said = int(np.argmax(observation.log_probs))
    debiased = result.prediction if result else None
    return {
        "query": case.query,
        "order": [image + 1 for image in case.order],
        "target_image": None if case.target is None else case.target + 1,
        "verdict": verdict(result, case) if result else raw_verdict(observation, case),
        "vanilla": said + 1,
        "vanilla_image": case.order[said] + 1,
        "debiased": debiased + 1 if result else None,
        "debiased_image": case.order[debiased] + 1 if result else None,
        "looked_at": result.looked_at + 1 if result else None,
        "log_probs": observation.log_probs,
        "posterior": result.posterior if result else None,
        "log_prior": result.log_prior if result else None,
        "log_p_vis": result.log_p_vis if result else None,
        "selected_layers": result.selected_layers if result else None,
        "attention": observation.attention,
    }


def as_text(case: Case, observation: Observation, result: Debiased | None, files: list[str] | None) -> str:
    """The verdict and one line per seat."""
    columns = {"says": np.exp(observation.log_probs)}
    if result is None:
        sentence = raw_verdict(observation, case)
    else:
        sentence = verdict(result, case)
        prior = np.exp(result.log_prior - np.logaddexp.reduce(result.log_prior))
        columns |= {"looks (π)": result.posterior, "habit": prior, "debiased": np.exp(result.log_p_vis)}
    names = seat_names(observation)
    rows = []
    for seat, image in enumerate(case.order):
        shown = files[image] if files else f"image {image + 1}"
        values = [
            f"{column[seat]:.3f}{'*' if seat == np.argmax(column) else ' '}" for column in columns.values()
        ]
        rows.append([f"{names[seat]}{' (right)' if seat == case.target_seat else ''}", shown, *values])
    lines = [sentence, "", shared.table(["seat", "picture", *columns], rows, left=2), ""]
    lines.append("* the largest of its column")
    if result is not None:
        lines.append(f"selected layers: {', '.join(map(str, result.selected_layers))} (from 0)")
    return "\n".join(lines)
