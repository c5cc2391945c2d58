"""Tint takes the WGSL of all examples."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from tests.browser.chromium import Chromium
from tests.examples.test_examples import ARGUMENTS, ROOT
from tests.on_shaders import found

NAMES = sorted(ARGUMENTS)
STARTS = re.compile(r"^(?=@group\(0\) @binding\(0\))", re.M)


def texts_of_examples() -> list[str]:
    """The WGSL of their kernels, as WebGPU's driver compiles it when they run."""
    script = ROOT / "tests" / "browser" / "all_examples.py"
    done = subprocess.run(
        [sys.executable, str(script), *NAMES],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
            "GRIDLANE_DEVICE": "webgpu",
            "GRIDLANE_DUMP": "asm",
            "GRIDLANE_CACHE": "0",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    _, *parts = STARTS.split(done.stderr)
    return [part[: part.rindex("\n}") + 2] for part in parts]


@pytest.mark.skipif("webgpu" not in found(), reason="no device of webgpu")
def test_tint_takes_the_examples(shaders: Chromium) -> None:
    texts = texts_of_examples()
    assert len(texts) >= len(NAMES)
    assert all(text.count("@compute") == 1 for text in texts)
    said = shaders.run(f"Promise.all({json.dumps(texts)}.map(shaders.judge))")
    assert said == [None] * len(texts)
