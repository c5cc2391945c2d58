"""Why tests of array-api-tests do not pass: for the page of array_api_suite.py."""

from __future__ import annotations

REASONS: dict[str, str] = {}
"""Reasons by the beginning of a test's name."""


def reason_of(test: str, device: str) -> str:
    """Why a test fails on a device.

    Raises:
        KeyError: it should pass.
    """
    for beginning, reason in REASONS.items():
        if test.startswith(beginning):
            return reason
    raise KeyError(f"{test} fails on {device}, and no reason says why")
