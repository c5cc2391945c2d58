"""A plugin of pytest: ``--until TIME`` skips the tests that begin after a time of the clock."""

from __future__ import annotations

import time

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--until``, in seconds since 1970."""
    parser.addoption("--until", type=float, help="skip the tests that begin later")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that begins late."""
    if time.time() > item.config.getoption("--until"):
        pytest.skip("the time of a quick run was over")
