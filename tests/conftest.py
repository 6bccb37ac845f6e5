"""What all tests share. No test reaches a Hub."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from hypothesis import settings

settings.register_profile("shared", deadline=None)  # the machine is shared: a slow moment is no fault
settings.load_profile("shared")
