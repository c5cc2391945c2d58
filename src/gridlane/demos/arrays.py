"""A chain of functions of arrays, fused into one kernel.

``xp.explain`` prints the kernels before any runs.
"""

from __future__ import annotations

from argparse import Namespace

import numpy as np

from gridlane import xp
from gridlane.demos.checking import check, run


def demo(options: Namespace) -> None:
    """Compute tanh(1.702 x + y) sigmoid(y) + sqrt(|x| + 1), and the sums of its rows."""
    rng = np.random.default_rng(1)
    a = rng.normal(size=(options.size, options.size)).astype(np.float32)
    b = rng.normal(size=(options.size, options.size)).astype(np.float32)

    x, y = xp.asarray(a), xp.asarray(b)
    z = xp.tanh(x * 1.702 + y) * xp.sigmoid(y) + xp.sqrt(xp.abs(x) + 1)
    sums = xp.sum(z, axis=1)
    print(xp.explain(sums))

    a, b = a.astype(np.float64), b.astype(np.float64)
    expected = np.tanh(a * 1.702 + b) / (1 + np.exp(-b)) + np.sqrt(np.abs(a) + 1)
    check("elements", z, expected, 1e-6)
    check("sums of rows", sums, expected.sum(axis=1), 1e-6)


if __name__ == "__main__":
    run(demo, size=1000)
