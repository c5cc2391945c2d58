"""Kernels with vectors that numba-cuda compiles as well, and numba's PTX of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

ELEMENTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
ELEMENTS += ("float32", "float64")

SOURCE = """
def kernel(source, out):
    one = cuda.{0}x1(source[0])
    two = cuda.{0}x2(source[1], one)
    three = cuda.{0}x3(two, source[2])
    four = cuda.{0}x4(three, one)
    held = cuda.{0}x4(four)
    for k in range(3):
        if source[k] > source[k + 1]:
            held = cuda.{0}x4(held.y, cuda.{0}x2(held.z, held.w), held.x)
        else:
            held = cuda.{0}x4(two, two)
        out[4 * k] = held.x
        out[4 * k + 1] = held.y
        out[4 * k + 2] = held.z
        out[4 * k + 3] = held.w
    for v in (four, cuda.{0}x4(two, one, source[5]), cuda.{0}x4(source[4], three)):
        out[12] += v.x * v.y - v.z
        out[13] = v.w + out[12]
"""

_COMPILE = """
import json, linecache, sys
from types import SimpleNamespace
import numba, numba.cuda
from tests.peers.numba_vectors import ELEMENTS, SOURCE

device = SimpleNamespace(compute_capability=(8, 0))
numba.cuda.dispatcher.get_current_device = lambda: device
made = {}
for element in ELEMENTS:
    text, name = SOURCE.format(element), element
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    namespace = {"cuda": numba.cuda}
    exec(compile(text, name, "exec"), namespace)
    kinds = (getattr(numba.types, element)[::1],) * 2
    made[element] = numba.cuda.compile_ptx(namespace["kernel"], kinds, device=False, cc=(8, 0))[0]
print(json.dumps(made))
"""


def numba_ptx() -> dict[str, str]:
    """numba-cuda's PTX by the type of the components, from a process of its own."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", _COMPILE]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def arrays(element: str) -> tuple[np.ndarray, np.ndarray]:
    """Arguments of the kernel."""
    source = np.array([3, 120, 7, 100, 5, 9], element)
    return source, np.zeros(14, element)
