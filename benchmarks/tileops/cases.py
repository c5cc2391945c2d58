"""What is compared: our function and torch's on the arrays of a workload."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from benchmarks.tileops.manifest import Workload

NEAR = {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 2e-2}
"""The largest difference beside the largest result, by the results' dtype."""


class Case(NamedTuple):
    """Functions without arguments, each of which returns its results."""

    ours: Callable[[], Any]
    theirs: Callable[[], Any]


class Missing(Exception):
    """A workload that gridlane's kernels do not compute; the message has the reason."""


Builder = Callable[["Given"], Case]


class Given:
    """A workload's words, with extents that are divided on processors.

    Args:
        factor: what divides lengths.
    """

    def __init__(self, workload: Workload, factor: int) -> None:
        self.words, self.factor = workload.words, factor
        self.dtype: Any = getattr(torch, workload.words["dtypes"][0])

    def __getitem__(self, name: str) -> Any:
        return self.words[name]

    def get(self, name: str, other: Any = None) -> Any:
        return self.words.get(name, other)

    def length(self, n: int) -> int:
        """A length, divided, but not below 128."""
        return n if n <= 128 or self.factor == 1 else max(n // self.factor, 128)

    def normal(self, *shape: int) -> Any:
        """Random numbers of the normal distribution."""
        return torch.randn(shape).to(self.dtype)


def is_close(ours: Any, theirs: Any) -> tuple[bool, float]:
    """Whether results are near each other, and the largest difference beside the largest result.

    NaN is not near anything.
    """
    one = ours if isinstance(ours, tuple | list) else (ours,)
    other = theirs if isinstance(theirs, tuple | list) else (theirs,)
    worst, near = 0.0, len(one) == len(other)
    for x, y in zip(one, other, strict=False):
        if x.shape != y.shape or x.dtype != y.dtype:
            return False, float("inf")
        most = max(float(y.float().abs().max()), 1e-30)
        off = float((x.float() - y.float()).abs().max()) / most
        near, worst = near and off <= NEAR[x.dtype], max(worst, off)
    return near, worst
