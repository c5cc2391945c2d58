"""Scans of a warp's items, which keep their order."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

from gridlane.algorithms.coop.elements import element_of
from gridlane.algorithms.coop.groups import lanes
from gridlane.algorithms.coop.invocable import Invocable, with_memory
from gridlane.algorithms.coop.operators import combining
from gridlane.algorithms.coop.parameters import normalize_dtype_param, warp_of
from gridlane.cuda.kernels.decorators import jit


def _make_scan(
    dtype: Any, scan_op: Any, initial_value: Any, width: int, inclusive: bool
) -> Invocable:
    width = warp_of(width)
    element = element_of(normalize_dtype_param(dtype))
    combine, exchange = combining(scan_op, element, "scan_op"), element.exchange
    cast, zero, place = element.cast, element.zero, lanes(width)
    has_initial = initial_value is not None
    if has_initial:
        initial_value = element.argument(initial_value)

    @jit(device=True)
    def scan(memory, item, *rest):
        rank, lane, _, mask = place()
        total = cast(item)
        step = 1
        while step < width:
            other = exchange(total, rank, rank - step if lane >= step else rank, mask)
            if lane >= step:
                total = combine(other, total)
            step *= 2
        result = total
        if not inclusive:
            result = exchange(total, rank, rank - 1 if lane > 0 else rank, mask)
        if len(rest) > 0 or has_initial:
            start = cast(rest[0]) if len(rest) > 0 else cast(initial_value)
            result = combine(start, result) if inclusive or lane > 0 else start
        elif not inclusive and lane == 0:
            result = zero(result)
        return result

    return with_memory(scan, 0, 1, alignment=element.alignment)


def make_exclusive_sum(dtype: Any, threads_in_warp: int = 32) -> Invocable:
    """Add the items before each in its warp: the call is ``(item)``."""
    return _make_scan(dtype, "+", None, threads_in_warp, False)


def make_inclusive_sum(dtype: Any, threads_in_warp: int = 32) -> Invocable:
    """Add the items up to each in its warp: the call is ``(item)``."""
    return _make_scan(dtype, "+", None, threads_in_warp, True)


def make_exclusive_scan(
    dtype: Any, scan_op: Any, initial_value: Any = None, threads_in_warp: int = 32
) -> Invocable:
    """Combine the items before each in its warp: the call is ``(item)`` or ``(item, initial)``.
    Without an initial value the first output is undefined."""
    return _make_scan(dtype, scan_op, initial_value, threads_in_warp, False)


def make_inclusive_scan(
    dtype: Any, scan_op: Any, initial_value: Any = None, threads_in_warp: int = 32
) -> Invocable:
    """Combine the items up to each in its warp: the call is ``(item)`` or ``(item, initial)``."""
    return _make_scan(dtype, scan_op, initial_value, threads_in_warp, True)
