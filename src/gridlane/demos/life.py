"""Conway's game of life by sums of shifted arrays."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from gridlane import xp
from gridlane.demos import pictures
from gridlane.demos.checking import check, run


def generation(cells: Any, library: Any) -> Any:
    """The next generation on a torus, by the functions of ``xp`` or of NumPy."""
    shifts = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx]
    alive = sum(library.roll(cells, shift, axis=(0, 1)) for shift in shifts)
    return ((alive == 3) | ((alive == 2) & (cells == 1))).astype("int32")


def demo(options: Namespace) -> None:
    """Run 50 generations of random cells, and compare the last with NumPy's."""
    start = (np.random.default_rng(4).random((options.size, options.size)) < 0.3).astype("int32")
    cells, expected = xp.asarray(start), start
    for _ in range(50):
        cells = generation(cells, xp)
        expected = generation(expected, np)
    print(pictures.text(cells))
    check("cells after 50 generations", cells, expected)
    if options.out:
        pictures.write(options.out, cells)


if __name__ == "__main__":
    run(demo, size=128, draws=True)
