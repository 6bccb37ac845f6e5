"""The app in its own process, and Chromium in front of it. Every test also checks that nothing is asked of
another host."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
START_SECONDS = 120
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """Where the app answers."""
    yield from _served("app", tmp_path_factory.mktemp("app") / "log.txt")


@pytest.fixture(scope="session")
def slow_address(tmp_path_factory):
    """Where it answers with a model that takes half a second for each order."""
    yield from _served("tests.browser.slow_app", tmp_path_factory.mktemp("slow") / "log.txt")


def _served(module, log):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "GRADIO_ANALYTICS_ENABLED": "False"}
    with log.open("w") as output:
        command = [sys.executable, "-m", module, "--port", str(port)]
        app = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}/"
    try:
        _wait_for(url, app, log)
        yield url
    finally:
        app.terminate()
        app.wait(10)


def _wait_for(url, app, log):
    for _ in range(START_SECONDS * 2):
        if app.poll() is not None:
            break
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.5)
    pytest.fail(f"The app did not start:\n{log.read_text()}")


@pytest.fixture(scope="session")
def chromium():
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "The browser tests need Chromium: install Debian's package, or name another in CHROMIUM."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def screen():
    """The window; a test may ask for another one."""
    return {"viewport": {"width": 1440, "height": 900}}


@pytest.fixture
def page(chromium, address, screen):
    """The page as it opens, figures drawn."""
    yield from _opened(chromium, address, screen)


@pytest.fixture
def slow_page(chromium, slow_address, screen):
    yield from _opened(chromium, slow_address, screen)


def _opened(chromium, address, screen):
    context = chromium.new_context(**screen)
    page = context.new_page()
    asked, broken = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.goto(address)
    page.wait_for_selector("#figure-layers .heatmaplayer")
    yield page
    context.close()
    outside = [url for url in asked if not url.startswith((address, "data:", "blob:"))]
    assert not outside, f"The page asked other hosts: {outside}"
    assert not broken, f"The page's scripts failed: {broken}"
