"""The Gradio page. One module per tab; it shows what the library computes and computes nothing itself."""

from lad_core.page.build import build_page, launch_options

__all__ = ["build_page", "launch_options"]
