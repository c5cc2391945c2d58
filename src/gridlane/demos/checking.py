"""What all demos share: their options, and the verdict on their results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import gridlane


def run(demo: Callable[[argparse.Namespace], None], size: int, draws: bool = False) -> None:
    """Parse the options, and run a demo on the device of ``--device``.

    Args:
        demo: takes the options.
        size: the default of ``--size``.
        draws: whether it has a picture, for ``--out``.
    """
    summary = sys.modules[demo.__module__].__doc__
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("--device", help="such as cpu, vulkan, cuda:1; by default the current one")
    parser.add_argument("--size", type=int, default=size, help=f"by default {size}")
    if draws:
        parser.add_argument("--out", help="a PNG file to draw")
    options = parser.parse_args()
    if options.size < 1:
        parser.error("--size is at least 1")
    if options.device is None:
        demo(options)
    else:
        with gridlane.device(options.device):
            demo(options)


def check(what: str, got: Any, expected: Any, error: float = 0.0) -> None:
    """Print that results are as expected, or exit with 1.

    Args:
        error: the largest difference, relative to the largest of the expected numbers.
    """
    mine, right = np.asarray(got), np.asarray(expected)
    if mine.shape != right.shape:
        sys.exit(f"wrong: {what} have the shape {mine.shape}, not {right.shape}")
    if error == 0.0:
        if not np.array_equal(mine, right):
            sys.exit(f"wrong: {what}: {np.count_nonzero(mine != right)} of {right.size} differ")
        print(f"right: {what}, equal")
        return
    largest = float(np.max(np.abs(right), initial=0.0))
    difference = float(np.max(np.abs(mine - right), initial=0.0)) / (largest or 1.0)
    if not difference <= error:
        sys.exit(f"wrong: {what} differ by {difference:.2g}, more than {error:.2g}")
    print(f"right: {what}, within {difference:.1e}")
