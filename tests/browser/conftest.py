"""One browser for all tests of a process, and the page of shaders.js in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser import chromium
from tests.browser.chromium import Chromium
from tests.browser.served import Site

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def browser(tmp_path_factory) -> Iterator[Chromium]:
    """A browser. In continuous integration it must be there: .ci/run installs it."""
    if chromium.found() is None:
        assert not os.environ.get("CI"), "no chromium, which .ci/run installs"
        pytest.skip("no chromium")
    made = Chromium(tmp_path_factory.mktemp("chromium"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def shaders(browser: Chromium, tmp_path_factory) -> Iterator[Chromium]:
    """The browser, with shaders.js as ``shaders``."""
    folder = tmp_path_factory.mktemp("shaders")
    (folder / "index.html").write_text("<!doctype html><title>shaders</title>")
    (folder / "shaders.js").write_bytes((HERE / "shaders.js").read_bytes())
    site = Site(folder)
    browser.go(site.url)
    opened = browser.run(
        "import('./shaders.js').then((module) => (globalThis.shaders = module).open())"
    )
    assert opened == "swiftshader"
    yield browser
    site.close()
