"""The command line: ``python -m lad_core {explain,deal,calibrate,evaluate,train,models}``."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from lad_core.commands import calibrate, deal, evaluate, explain, models, train


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage in front of it."""

    def error(self, message: str):
        self.exit(2, f"error: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns 0, or 2 after one line on stderr for bad input, or 130 if stopped."""
    parser = Parser(
        prog="python -m lad_core", description="See a model's position bias, measure it, and undo it."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (explain, deal, calibrate, evaluate, train, models):
        command.add(commands)
    args = parser.parse_args(argv)
    _quieten()
    try:
        args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError) as error:
        print(f"error: {_sentence(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    return 0


def _quieten() -> None:
    """Keep stderr for this program's own lines: no library's warnings, and no bars where no terminal is."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
