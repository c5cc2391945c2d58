"""How compilation, memory and time of gridlane.xp grow.

    python benchmarks/growth.py [--ops N …] [--arrays N] [--repetitions N]

- Expressions of N operations in a random order, each of its own, are computed for the first time
  without the disk cache: the processor's milliseconds an operation, those of the compiler's
  processes included. They are equal where compilation is linear.
- Small arrays of many shapes are made, combined and dropped: the growth of resident memory, and the
  bytes of arrays that live at the end.
- One small expression is computed again and again: the growth of resident memory between the first
  tenth and the end.
"""

from __future__ import annotations

import argparse
import os
import random

os.environ |= {"GRIDLANE_DEVICE": "cpu", "GRIDLANE_CACHE": "0"}

import numpy as np

import results
from compile_memory import resident
from gridlane import device, xp

OPS = 100, 200, 500, 1000, 2000
UNARY = "abs", "negative", "sqrt", "sin", "cos", "tanh", "exp2", "floor", "square", "arctan"


def seconds() -> float:
    """The processor's time of this process and of those that it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def expression(count: int, seed: int) -> tuple[xp.Array, np.ndarray]:
    """An expression of so many operations that stays in bounds, and NumPy's result."""
    choices = random.Random(seed)
    host = np.linspace(0.1, 0.9, 64)
    x = result = xp.asarray(host)
    expected = host
    for n in range(count // 2):
        name = choices.choice(UNARY)
        if name in ("sqrt", "square") or n % 7 == 0:
            result, expected = xp.minimum(xp.abs(result), 1.0), np.minimum(np.abs(expected), 1.0)
        else:
            result = getattr(xp, name)(result) * x
            expected = getattr(np, name)(expected) * host
    return result, expected


def compilation(counts: list[int]) -> None:
    """Milliseconds an operation of the first computation."""
    np.asarray(expression(60, 0)[0])
    for count in counts:
        result, expected = expression(0, 0)
        begin = seconds()
        result, expected = expression(count, count)
        got = np.asarray(result)
        each = 1e3 * (seconds() - begin) / count
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-9)
        results.add(f"{count} operations", "compiled, each", each, "ms")
        print(f"{count} operations: {each:.2f} ms each", flush=True)


def arrays(count: int) -> None:
    """Memory after many small arrays."""

    def some(number: int) -> None:
        x = xp.full((1 + number % 7, 1 + number % 5), float(number))
        y = xp.arange(x.size) + 1.0
        assert float(xp.sum(x.reshape(-1) * y)) == number * x.size * (x.size + 1) / 2

    for number in range(count // 10):
        some(number)
    before = resident()
    for number in range(count):
        some(number)
    grown = resident() - before
    with device("cpu") as here:
        left = here.memory.statistics().used
    results.add(f"{count} small arrays", "grown", grown, "MiB")
    results.add(f"{count} small arrays", "alive", left, "bytes")
    print(f"{count} small arrays: {grown:.2f} MiB grown, {left} bytes of arrays alive", flush=True)


def repetitions(count: int) -> None:
    """Memory and time of one small expression."""
    x = xp.arange(16.0)
    expected = np.arange(16.0) * 2 + 1
    tenth = max(1, count // 10)
    before = resident()
    begin = seconds()
    for number in range(1, count + 1):
        got = np.asarray(x * 2 + 1)
        if number % tenth == 0:
            assert np.array_equal(got, expected)
        if number == tenth:
            before, begin = resident(), seconds()
    each = 1e6 * (seconds() - begin) / max(1, count - tenth)
    grown = resident() - before
    results.add(f"{count} repetitions", "grown", grown, "MiB")
    results.add(f"{count} repetitions", "each", each, "us")
    print(f"{count} repetitions: {grown:.2f} MiB grown, {each:.1f} us each", flush=True)


def main() -> None:
    """Measure all three."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", type=int, nargs="*", default=list(OPS))
    parser.add_argument("--arrays", type=int, default=10_000)
    parser.add_argument("--repetitions", type=int, default=100_000)
    results.option(parser)
    given = parser.parse_args()
    compilation(given.ops)
    if given.arrays:
        arrays(given.arrays)
    if given.repetitions:
        repetitions(given.repetitions)
    results.write("growth", given.record)


if __name__ == "__main__":
    main()
