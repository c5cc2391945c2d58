"""The block in which CUDA packs the parameters of a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.frontends.ptx.module import Declared


def placed(params: Sequence[Declared]) -> list[tuple[Declared, int]]:
    """Parameters with their offsets in the block that CUDA packs."""
    results: list[tuple[Declared, int]] = []
    end = 0
    for each in params:
        start = -(-end // each.align) * each.align
        results.append((each, start))
        end = start + each.size
    return results


def packed_size(params: Sequence[Declared]) -> int:
    """The bytes of the block."""
    return placed(params)[-1][1] + params[-1].size if params else 0
