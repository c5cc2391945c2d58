"""Each message that docs/troubleshooting.md quotes is one that the source still has."""

from __future__ import annotations

import re
import runpy
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `((?:[^`|]|\\\|)+)` \|", re.M)
QUOTED = ROW.findall((ROOT / "docs" / "troubleshooting.md").read_text())
# Where one literal ends and the next begins, which Python joins.
SEAM = re.compile(r"\"\s*\n\s*f?\"|'\s*\n\s*f?'")


@cache
def source() -> list[str]:
    """The lines of all modules, with a message of several literals on one, and of the failures."""
    package = ROOT / "src" / "gridlane"
    paths = [*sorted(package.rglob("*.py")), package / "core" / "cuda_table" / "errors.txt"]
    texts = (path.read_text() for path in paths if "emulation" not in path.parts)
    lines = (line for text in texts for line in SEAM.sub("", text).splitlines())
    return [line for line in lines if " " in line.strip()]


@pytest.mark.parametrize("message", QUOTED)
def test_the_message_exists(message: str) -> None:
    parts = [part.replace("\\|", "|") for part in message.split("…") if part.strip(" ;:,().")]
    assert parts, "the row quotes no text"
    # Lines with the first part are few; a pattern over the whole text takes seconds.
    lines = (line for line in source() if parts[0].strip() in line)
    pattern = re.compile(".*".join(re.escape(part.strip()) for part in parts))
    assert any(map(pattern.search, lines)), f"no line of src has {message!r}"


def test_there_are_messages() -> None:
    assert len(QUOTED) > 50


HEAD = """import math
import numpy as np
from gridlane import cuda
from gridlane.cuda import float32, int32
x = np.ones(8, np.float32)
"""
# The first words of a row, and a program that meets its message.
PROVOKED = {
    "Kernel launch configuration": "cuda.jit(lambda x: None)(x)",
    "a kernel cannot take an object": "@cuda.jit\ndef k(x):\n    x[0] = 1\nk[1, 1]([1.0])",
    "kernels cannot hold elements": "cuda.to_device(np.array(['a'], object))",
    "launch of …: the … … has … along …, and": "@cuda.jit\ndef k(x):\n    x[0] = 1\nk[1, 2048](x)",
    "launch of …: the … … has … along …; every": "@cuda.jit\ndef k(x):\n    pass\nk[0, 32](x)",
    "… must be a sequence of integers": "@cuda.jit\ndef k(x):\n    pass\nk[8 / 32, 32](x)",
    "… has no option": "cuda.jit(fastmat=True)(lambda x: None)",
    "there is no type": "cuda.jit('void(float33)')(lambda x: None)",
    "… cannot be compiled for a device": "@cuda.jit\ndef k(x):\n    y = [1]\nk[1, 1](x)",
    "… cannot be called in a kernel": "@cuda.jit\ndef k(x):\n    np.sort(x)\nk[1, 1](x)",
    "…() is a plain Python function": (
        "def f(a):\n    return a\n@cuda.jit\ndef k(x):\n    x[0] = f(1)\nk[1, 1](x)"
    ),
    "… is not defined: it is neither": "@cuda.jit\ndef k(x):\n    x[0] = y\nk[1, 1](x)",
    "gridlane does not have": "@cuda.jit\ndef k(x):\n    cuda.foo(x)\nk[1, 1](x)",
    "… must be known when the kernel": (
        "@cuda.jit\ndef k(x, n):\n    s = cuda.shared.array(n, float32)\nk[1, 1](x, 3)"
    ),
    "… has a meaning only inside": "cuda.grid(1)",
    "… between … and … is not defined": "@cuda.jit\ndef k(x):\n    x += (1, 2)\nk[1, 1](x)",
    "an array of more than": (
        "@cuda.jit\ndef k(x):\n    y = x + 1\n    x[0] = 2\n    x[1] = y[0]\n"
        "k[1, 1](np.zeros(9999))\ncuda.synchronize()"
    ),
    "… is required here, not …` |": "@cuda.jit\ndef k(x):\n    x[0] = 'a'\nk[1, 1](x)",
    "… indices for an array": "@cuda.jit\ndef k(x):\n    x[0, 0] = 1\nk[1, 1](x)",
    "… is required here, not …; convert": "@cuda.jit\ndef k(x):\n    x[0.5] = 1\nk[1, 1](x)",
    "… has no attribute": "@cuda.jit\ndef k(x):\n    x[0] = x.foo\nk[1, 1](x)",
    "this array is read-only": (
        "x.flags.writeable = False\n@cuda.jit\ndef k(x):\n    x[0] = 1\nk[1, 1](x)"
    ),
    "… takes integers and bools": "@cuda.jit\ndef k(x):\n    x[0] = x[1] & 3\nk[1, 1](x)",
    "a tuple cannot be changed": "@cuda.jit\ndef k(x):\n    t = 1, 2\n    t[0] = 3\nk[1, 1](x)",
    "an array has no truth value": "@cuda.jit\ndef k(x):\n    if x:\n        x[0] = 1\nk[1, 1](x)",
    "a complex number does not": "@cuda.jit\ndef k(x):\n    x[0] = 1j\nk[1, 1](x)",
    "index is out of bounds": (
        "@cuda.jit(debug=True, opt=False)\ndef k(x):\n    x[99] = 1\nk[1, 1](x)\ncuda.synchronize()"
    ),
    "integer division or modulo": (
        "@cuda.jit(debug=True, opt=False)\ndef k(x):\n    x[0] = 1 // int32(x[1] - x[2])\n"
        "k[1, 1](x)\ncuda.synchronize()"
    ),
    "not enough memory": "cuda.device_array(1 << 50, np.float32)",
    "incompatible shape": "cuda.to_device(x).copy_to_host(np.zeros(3, np.float32))",
    "device arrays are indexed": "cuda.to_device(x)[[1, 2]]",
}


@pytest.mark.parametrize("row", PROVOKED)
def test_the_message_comes(row: str, tmp_path: Path) -> None:
    message = next(each for each in QUOTED if f"{each}` |".startswith(row))
    program = tmp_path / "program.py"
    program.write_text(HEAD + PROVOKED[row])
    parts = (re.escape(part.replace("\\|", "|")) for part in message.split("…"))
    with pytest.raises(Exception, match=".*".join(parts)):
        runpy.run_path(str(program))
