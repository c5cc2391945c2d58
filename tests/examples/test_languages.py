"""The kernels of every example compile to every shading language, whatever this machine has."""

from __future__ import annotations

import os

import pytest
from tests import programs
from tests.examples.languages import TARGETS
from tests.examples.test_examples import ARGUMENTS, EXAMPLES, ROOT

LAUNCHED = {"wave3d"}
"""Examples whose kernels are made at their launch: tests/actors runs those on every device."""


ACTORS = {name for name in ARGUMENTS if name.startswith(("actors_", "wave3d"))}
"""Their runtimes make the kernels; test_examples runs them on every device."""


TILES = {"tile_transformer"}
"""Programs over tiles; test_examples runs them on every device."""


@pytest.mark.parametrize("name", sorted(set(ARGUMENTS) - LAUNCHED - ACTORS - TILES))
def test_languages(name: str) -> None:
    script = str(ROOT / "tests" / "examples" / "languages.py")
    words = [script, str(EXAMPLES / f"{name}.py"), *ARGUMENTS[name]["interp"].split()]
    done = programs.run(words, ROOT, {**os.environ, "GRIDLANE_DEVICE": "cpu"})
    assert done.returncode == 0, done.stdout + done.stderr
    made = [line.split() for line in done.stdout.splitlines() if line.startswith("made ")]
    refused = [line for line in done.stdout.splitlines() if line.startswith("refused ")]
    assert not refused
    assert {target for _, target, *_ in made} == set(TARGETS)
    assert all(int(line[-1]) > 100 for line in made)
