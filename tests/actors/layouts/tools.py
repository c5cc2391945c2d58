"""Compilers that judge the texts."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def require(program: str, package: str = "") -> str:
    """A program; the test is skipped without it, and fails in continuous integration."""
    found = shutil.which(program)
    if found is None and os.environ.get("CI"):
        pytest.fail(f"no {program}; .ci/run installs it")
    if found is None:
        pytest.skip(f"no {program}{f' (Debian: {package})' if package else ''}")
    return found


def complaint(text: str, *command: str) -> str:
    """What a program has against a text, or ""."""
    done = subprocess.run(command, input=text, text=True, capture_output=True, timeout=120)
    return (done.stdout + done.stderr or "failed") if done.returncode else ""


def swapped(text: str, first: str, second: str) -> str:
    """A text with the two lines exchanged that have these words."""
    lines = text.splitlines()
    (a,) = [n for n, line in enumerate(lines) if first in line and "static_assert" not in line]
    (b,) = [n for n, line in enumerate(lines) if second in line and "static_assert" not in line]
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines) + "\n"
