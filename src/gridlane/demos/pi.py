"""The number pi by random points in a square."""

from __future__ import annotations

import math
from argparse import Namespace

import numpy as np

from gridlane import xp
from gridlane.demos.checking import check, run


def demo(options: Namespace) -> None:
    """Count the points inside of a circle. The points are those of NumPy's generator Philox."""
    points = xp.random.default_rng(6).random((options.size, 2))
    inside = xp.sum(points * points, axis=1) < 1
    estimate = 4 * float(xp.mean(inside.astype(xp.float64)))
    print(f"{estimate:.6f} of {options.size} points")

    same = np.random.Generator(np.random.Philox(6)).random((options.size, 2))
    expected = (same * same).sum(axis=1) < 1
    check("points inside", int(xp.sum(inside)), int(expected.sum()))
    deviation = math.sqrt((4 / math.pi - 1) / options.size)
    check("pi", [estimate], [math.pi], 5 * deviation)


if __name__ == "__main__":
    run(demo, size=200_000)
