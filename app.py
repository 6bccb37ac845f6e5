"""See position bias in multi-image retrieval, and undo it. ``python app.py --help`` lists the flags."""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # before Gradio is imported

from lad_core.page import build_page, launch_options


def parser() -> argparse.ArgumentParser:
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("--host", default=os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1"), help="address")
    flags.add_argument("--port", type=int, help="port; the first free one from 7860 if not given")
    flags.add_argument("--share", action="store_true", help="ask Gradio for a public link")
    flags.add_argument("--model", default="scene-vlm", help="model of the first screen: a name or a folder")
    return flags


if __name__ == "__main__":
    flags = parser()
    given = flags.parse_args()
    try:
        demo = build_page(given.model)
    except ValueError as error:
        flags.error(str(error))
    demo.launch(server_name=given.host, server_port=given.port, share=given.share, **launch_options())
