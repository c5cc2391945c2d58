"""What is known of a number that a 64-bit computation may have overflowed to.

Bounds of such numbers hold but for the overflow. Each function is run as plain Python too, on
numpy's scalars, which wrap.
"""

from __future__ import annotations

import linecache
import warnings

import numpy as np
import pytest

import gridlane
from gridlane import cuda

MOST = 2**63 - 1
EXPRESSIONS = (
    "abs(w)",
    "w // np.int64(7)",
    "w % np.int64(7)",
    "np.int64(-100) // w if w != np.int64(0) else np.int64(3)",
    "np.int64(-100) % w if w != np.int64(0) else np.int64(3)",
    "(np.int64(10) // w) % np.int64(3) if w != np.int64(0) else np.int64(3)",
    "(np.int64(10) % w) // np.int64(3) if w != np.int64(0) else np.int64(3)",
    "(w & y) % np.int64(7)",
    "(w & np.int64(-256)) // np.int64(7)",
    "(w | np.int64(3)) % np.int64(7)",
    "(w ^ np.int64(3)) % np.int64(7)",
    "(w >> np.int64(3)) % np.int64(7)",
    "(w << np.int64(3)) % np.int64(7)",
    "(w * np.int64(31)) % np.int64(7)",
    "(w - np.int64(31)) % np.int64(7)",
    "-w % np.int64(7)",
    "min(w, np.int64(5)) % np.int64(7)",
    "max(w, np.int64(5)) % np.int64(7)",
    "max(w, np.int64(-5)) % np.int64(7)",
    "max(np.int64(-50), min(w, y)) % np.int64(7)",
    "abs(w // np.int64(7)) % np.int64(5)",
    "w % np.int64(7) if w < np.int64(100) else np.int64(1)",
    "w % np.int64(7) if w <= np.int64(100) else np.int64(1)",
    "y % np.int64(7) if y > w else np.int64(1)",
    "y % np.int64(7) if y >= w else np.int64(1)",
    "y % np.int64(7) if w < y else np.int64(1)",
    "np.int64(w < np.uint64(5))",
    "np.int64(w > np.int64(2)) * (w % np.int64(7))",
)


def function(text: str):
    """A Python function of a text that linecache knows."""
    name = f"<overflow {abs(hash(text))}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    namespace = {"np": np, "cuda": cuda}
    exec(compile(text, name, "exec"), namespace)
    return namespace["f"]


INDICES = np.array([0, 1, 2, 5, 1000])
OTHERS = (-5, -(2**63) + 3, 3, MOST)


def check(text: str) -> None:
    """Run f(w, y) for numbers w that overflowed, which the kernel makes in front of it."""
    plain = function(text)
    inner = cuda.jit(device=True)(function(text))

    @cuda.jit
    def kernel(n, y, o):
        i = cuda.grid(1)
        w = np.int64(n[i] & 1023) + MOST  # at least MOST, but for the overflow
        o[i, 0] = inner(w, y)
        o[i, 1] = inner(w + w, y)

    for y in OTHERS:
        got = np.zeros((len(INDICES), 2), np.int64)
        with gridlane.device("interp"):
            kernel[1, len(INDICES)](INDICES, y, got)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            w = INDICES + np.int64(MOST)
            wanted = [[plain(a, np.int64(y)), plain(a + a, np.int64(y))] for a in w]
        np.testing.assert_array_equal(got, np.array(wanted), f"{text} with y = {y}")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression(expression: str) -> None:
    check(f"def f(w, y):\n    return np.int64({expression})\n")


@pytest.mark.parametrize("sign", ["//", "%"])
def test_a_divisor_that_overflowed_to_zero(sign: str) -> None:
    """Numba's integer division by 0 is 0 in a kernel."""
    inner = cuda.jit(device=True)(function(f"def f(w, y):\n    return np.int64(10) {sign} w\n"))

    @cuda.jit
    def kernel(n, o):
        i = cuda.grid(1)
        w = np.int64(n[i] & 1) + MOST
        o[i] = inner(w + w, 0)

    got = np.zeros(2, np.int64)
    with gridlane.device("interp"):
        kernel[1, 2](np.array([0, 1]), got)
    assert got[1] == 0
    assert got[0] == {"//": 10 // -2, "%": 10 % -2}[sign]


LOOPS = {
    "a sum that wraps": """
def f(w, y):
    s = np.int64(1)
    for _ in range(70):
        s = s * np.int64(3)
    return s % np.int64(7)
""",
    "a sum that wraps, below a bound": """
def f(w, y):
    s = np.int64(1)
    r = np.int64(0)
    for _ in range(70):
        s = s * np.int64(3)
        if s < np.int64(1000):
            r = r + s % np.int64(7)
    return r
""",
    "a while loop whose counter wraps": """
def f(w, y):
    i = np.int64(1)
    r = np.int64(0)
    n = np.int64(0)
    while i < np.int64(9223372036854775800) and n < np.int64(8):
        r = r * np.int64(7) + i % np.int64(5)
        i = i + np.int64(4611686018427387904)
        n = n + np.int64(1)
    return r
""",
    "a range from a number that wrapped": """
def f(w, y):
    r = np.int64(0)
    n = np.int64(0)
    for i in range(w, w + np.int64(5)):
        r = r * np.int64(7) + i % np.int64(5)
        n = n + np.int64(1)
        if n > np.int64(6):
            break
    return r
""",
    "a step that wrapped": """
def f(w, y):
    n = np.int64(0)
    if w != np.int64(0):
        for i in range(np.int64(3), np.int64(-100), w):
            n = n + i % np.int64(5)
            if n > np.int64(6):
                break
    return n
""",
    "enumerate from a number that wrapped": """
def f(w, y):
    r = np.int64(0)
    for i, v in enumerate((np.int64(3), np.int64(4)), w + np.int64(3)):
        r = r * np.int64(7) + i % np.int64(5) + v
    return r
""",
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop(name: str) -> None:
    check(LOOPS[name].lstrip())
