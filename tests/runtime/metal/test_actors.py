"""Actors and lattices on the stand-in for Metal: tests of all devices, in another process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.effort import NIGHTLY
from tests.on_metal import EMULATED

ROOT = Path(__file__).parents[3]
SOME = "metal and (calls or arrays or failure or actor_to_actor or fixed_boundary)"


@pytest.mark.parametrize("module", ["test_on_devices.py", "test_lattices.py"])
def test_actors(module):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"),
            *("-k", "metal" if NIGHTLY else SOME, str(ROOT / "tests" / "actors" / module)),
        ],
        cwd=ROOT,
        env={**os.environ, **EMULATED},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
