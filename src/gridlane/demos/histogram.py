"""Random numbers counted in bins, drawn as bars."""

from __future__ import annotations

import math
from argparse import Namespace

import numpy as np

from gridlane import xp
from gridlane.demos import pictures
from gridlane.demos.checking import check, run


def demo(options: Namespace) -> None:
    """Count normal numbers, and compare with NumPy's counts and with the normal distribution."""
    numbers = xp.random.default_rng(3).standard_normal(options.size)
    counts, edges = xp.histogram(numbers, bins=21, range=(-3.5, 3.5))
    host = np.asarray(edges)
    print(pictures.bars(counts, [f"{each:.2f}" for each in host[:-1]]))

    check("counts", counts, np.histogram(np.asarray(numbers), 21, (-3.5, 3.5))[0])
    below = np.array([0.5 * math.erfc(-each / math.sqrt(2)) for each in host])
    check("shares", counts / options.size, np.diff(below), 30 / math.sqrt(options.size))


if __name__ == "__main__":
    run(demo, size=100_000)
