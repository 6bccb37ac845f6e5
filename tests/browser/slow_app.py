"""The app with a model that takes its time, so that a visitor can stop it."""

import argparse
import time

from lad_core import load_model
from lad_core.page import build_page, launch_options


def load_slowly(name):
    model = load_model(name)
    observe = model.observe

    def slow(case, **options):
        time.sleep(0.5)
        return observe(case, **options)

    model.observe = slow
    return model


if __name__ == "__main__":
    flags = argparse.ArgumentParser()
    flags.add_argument("--port", type=int)
    build_page(load=load_slowly).launch(server_port=flags.parse_args().port, **launch_options())
