"""Scans of a block's items, which keep their order."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

from gridlane import cuda
from gridlane.algorithms.coop.elements import Element, element_of
from gridlane.algorithms.coop.groups import Group, block_group
from gridlane.algorithms.coop.invocable import (
    Invocable,
    StatefulFunction,
    with_memory,
)
from gridlane.algorithms.coop.operators import combining, prefixing
from gridlane.algorithms.coop.parameters import WARP, normalize_dtype_param
from gridlane.algorithms.coop.scan_op import ScanOp
from gridlane.core.naming import named
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher

_ALGORITHMS = "raking", "raking_memoize", "warp_scans"
_NEEDED = (
    "initial_value is required for both inclusive and exclusive scans when items_per_thread > 1 "
    "and no block prefix callback operator has been supplied; {} has no 0"
)


def make_scan(
    dtype: Any,
    threads_per_block: Any,
    items_per_thread: int,
    initial_value: Any = None,
    mode: str = "exclusive",
    scan_op: Any = "+",
    block_prefix_callback_op: Any = None,
    algorithm: str = "raking",
    methods: Any = None,
) -> Invocable:
    """Scan a block's items by an associative operator.

    With one item per thread the result has the call ``(item)``, which returns the scan. With
    several it is ``(items, outputs)``, which may be one array. Then follow the initial value, or
    the state of a prefix callback, if there is one.

    Args:
        initial_value: in front of the items, where a call has none.
        mode: ``"exclusive"`` or ``"inclusive"``.
        scan_op: a function, or the name of an operator.
        block_prefix_callback_op: a function of the block's aggregate that returns what is in front
            of the items, or a ``StatefulFunction`` whose state is the last argument of a call. The
            first 32 threads call it, and the value of the first thread is used.
        algorithm: accepted; each gives the same results.
        methods: accepted; values of a program's types need none.

    Raises:
        ValueError: a number, a name, or an initial value that is not allowed.
    """
    if algorithm not in _ALGORITHMS:
        raise ValueError(f"Unsupported algorithm: {algorithm}")
    if mode not in ("exclusive", "inclusive"):
        raise ValueError(f"Unsupported mode: {mode}")
    group = block_group(threads_per_block, items_per_thread)
    element = element_of(normalize_dtype_param(dtype))
    op, callback = ScanOp(scan_op), block_prefix_callback_op
    _check_initial(initial_value, element, op, group.items, mode, callback is not None)
    items, get, put, dtype = group.items, element.get, element.put, element.dtype
    scan_items = _scanning(group, element, op, callback, mode == "inclusive", initial_value)

    @jit(device=True)
    def scan(memory, *arguments):
        if items > 1:
            scan_items(memory, arguments[0], arguments[1], arguments[2:])
            return None
        single = cuda.local.array(1, dtype)
        put(single, 0, arguments[0])
        scan_items(memory, single, single, arguments[1:])
        return get(single, 0)

    has_state = isinstance(callback, StatefulFunction)
    arrays = 0 if items == 1 else 3 if has_state else 2
    return with_memory(scan, arrays, 2 * group.threads * element.size)


def _scanning(
    group: Group, element: Element, op: ScanOp, callback: Any, inclusive: bool, initial: Any
) -> Dispatcher:
    """The device function ``(memory, values, outputs, rest)`` that scans a thread's items."""
    items, threads, locate = group.items, group.threads, group.place
    cast, get, put = element.cast, element.get, element.put
    section, combine = group.section(element, count=2 * threads), combining(op, element, "scan_op")
    scan_threads = _scan_threads(element, combine, threads)
    emit = _emit(element, combine, items, inclusive)
    prefix = None if callback is None else prefixing(callback, element)
    has_initial = initial is not None
    value = element.argument(initial) if has_initial else None

    @jit(device=True)
    def scan_items(memory, values, outputs, rest):
        tile = section(memory)
        t, _, _ = locate()
        total = cast(get(values, 0))
        for e in range(1, items):
            total = combine(total, get(values, e))
        half = scan_threads(tile, t, total)
        start = total
        if prefix is not None:
            if t < WARP:
                start = prefix(*rest, get(tile, half + threads - 1))
                if t == 0:
                    put(tile, threads - half, start)
            cuda.syncthreads()
            start = get(tile, threads - half)
        elif len(rest) > 0:
            start = cast(rest[0])
        elif has_initial:
            start = cast(value)
        if prefix is not None or len(rest) > 0 or has_initial:
            before = start
            if t > 0:
                before = combine(start, get(tile, half + t - 1))
            emit(values, outputs, before, True)
        elif t > 0:
            emit(values, outputs, get(tile, half + t - 1), True)
        else:
            emit(values, outputs, total, False)
        cuda.syncthreads()

    return scan_items


def _check_initial(
    initial: Any, element: Element, op: ScanOp, items: int, mode: str, has_callback: bool
) -> None:
    if initial is None:
        if items > 1 and not has_callback and not element.is_number:
            raise ValueError(_NEEDED.format(element.kind))
        return
    if op.is_sum:
        raise ValueError("initial_value is not supported for inclusive and exclusive sums")
    if items == 1 and mode == "inclusive":
        raise ValueError(
            "initial_value is not supported for inclusive scans with items_per_thread == 1"
        )
    if has_callback:
        one = " with items_per_thread == 1 and" if items == 1 else " with"
        raise ValueError(
            f"initial_value is not supported for {mode} scans{one} a block prefix callback operator"
        )


def _scan_threads(element: Element, combine: Dispatcher, threads: int) -> Dispatcher:
    get, put = element.get, element.put

    @jit(device=True)
    def scan_threads(tile, t, total):
        """W. D. Hillis and G. L. Steele's inclusive scan of the threads' values, between two halves
        of the tile; the half that has it."""
        put(tile, t, total)
        cuda.syncthreads()
        half = 0
        step = 1
        while step < threads:
            value = get(tile, half + t)
            if t >= step:
                value = combine(get(tile, half + t - step), value)
            put(tile, threads - half + t, value)
            cuda.syncthreads()
            half = threads - half
            step *= 2
        return half

    return scan_threads


def _emit(element: Element, combine: Dispatcher, items: int, inclusive: bool) -> Dispatcher:
    get, put, zero = element.get, element.put, element.zero

    @jit(device=True)
    def emit(values, outputs, before, has_before):
        """Write a thread's outputs. They may be its values: each is read before it is written."""
        running = before
        first = 0
        if not has_before:
            running = get(values, 0)
            put(outputs, 0, running if inclusive else zero(running))
            first = 1
        for e in range(first, items):
            value = get(values, e)
            after = combine(running, value)
            put(outputs, e, after if inclusive else running)
            running = after

    return emit


def _sum(mode: str, text: str):
    def make(
        dtype: Any,
        threads_per_block: Any,
        items_per_thread: int,
        prefix_op: Any = None,
        algorithm: str = "raking",
        methods: Any = None,
    ) -> Invocable:
        return make_scan(
            dtype, threads_per_block, items_per_thread, None, mode, "+", prefix_op, algorithm
        )

    return named(make, f"make_{mode}_sum", text)


make_exclusive_sum = _sum("exclusive", "Add the items before each; see ``make_scan``.")
make_inclusive_sum = _sum("inclusive", "Add the items up to each; see ``make_scan``.")


def _scan(mode: str, text: str):
    def make(
        dtype: Any,
        threads_per_block: Any,
        scan_op: Any,
        items_per_thread: int,
        initial_value: Any = None,
        prefix_op: Any = None,
        algorithm: str = "raking",
        methods: Any = None,
    ) -> Invocable:
        return make_scan(
            dtype,
            threads_per_block,
            items_per_thread,
            initial_value,
            mode,
            scan_op,
            prefix_op,
            algorithm,
        )

    return named(make, f"make_{mode}_scan", text)


make_exclusive_scan = _scan(
    "exclusive",
    """Combine the items before each; see ``make_scan``. Without an initial value the first output
    is undefined.""",
)
make_inclusive_scan = _scan("inclusive", "Combine the items up to each; see ``make_scan``.")
