"""Decoding of a block's run lengths."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

from gridlane.algorithms.coop.elements import Element, element_of
from gridlane.algorithms.coop.groups import Group, block_group
from gridlane.algorithms.coop.invocable import Invocable, shared_bytes, with_memory
from gridlane.algorithms.coop.operators import combining
from gridlane.algorithms.coop.parameters import items_of, normalize_dtype_param
from gridlane.cuda import types
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher


class RunLength(Invocable):
    """A decoding: kernels call it with the runs, and then ``decode``, a window of items at a time.

    Attributes:
        decode: the call is ``(items, first)`` or ``(items, first, places_in_runs)``: each thread
            gets its items of the window that begins with the decoded item ``first``.
    """

    decode: Invocable


def make_run_length(
    item_dtype: Any,
    threads_per_block: Any,
    runs_per_thread: int = 1,
    decoded_items_per_thread: int = 1,
    decoded_offset_dtype: Any = None,
) -> RunLength:
    """Decode runs of a block.

    The result has the call ``(values, lengths)``, of a thread's runs, which returns the number of
    decoded items; ``decode`` follows. Its memory keeps the runs: a memory that a call has is the
    first argument of ``decode``, too.

    Args:
        item_dtype: the type of the values.
        threads_per_block: a number, or a tuple of two or three.
        runs_per_thread: runs of each thread in a row; they may be empty.
        decoded_items_per_thread: items of each thread in a window.
        decoded_offset_dtype: the type of numbers of decoded items, uint32 by default.

    Raises:
        ValueError: a number that is not allowed.
        TypeError: values of a program's type, of which no memory of bytes keeps the runs.
    """
    group = block_group(threads_per_block, items_of(runs_per_thread, "runs_per_thread"))
    wanted = items_of(decoded_items_per_thread, "decoded_items_per_thread")
    element = element_of(normalize_dtype_param(item_dtype))
    if not element.size:
        raise TypeError(f"run lengths of {element.kind} are unsupported; decode numbers of values")
    offset_type = types.uint32 if decoded_offset_dtype is None else decoded_offset_dtype
    offset = element_of(normalize_dtype_param(offset_type))
    first_byte = -(-group.count * element.size // 16) * 16
    values_in, ends_in = group.section(element), group.section(offset, first_byte)
    run_length = _keeping(group, element, offset, values_in, ends_in)
    decode = _decoding(group, element, offset, values_in, ends_in, wanted)
    size = first_byte + group.count * offset.size
    own = shared_bytes(max(1, size))
    made = RunLength(with_memory(run_length, 2, size, own).function, size)
    made.decode = with_memory(decode, 1, size, own)
    return made


def _keeping(
    group: Group, element: Element, offset: Element, values_in: Dispatcher, ends_in: Dispatcher
) -> Dispatcher:
    """The device function ``(memory, values, lengths)`` that keeps the values and where each run
    ends, and returns the last end."""
    items, count, threads = group.items, group.count, group.threads
    locate, sync, add = group.place, group.sync, combining("+", offset, "+")
    get, put, convert = element.get, element.put, offset.cast

    @jit(device=True)
    def run_length(memory, values, lengths):
        tile, ends = values_in(memory), ends_in(memory)
        t, _, mask = locate()
        total = convert(0)
        for e in range(items):
            put(tile, t * items + e, get(values, e))
            total = add(total, convert(lengths[e]))
            ends[t * items + e] = total
        sync(mask)
        step = 1
        while step < threads:
            # A thread's last end is that of all runs up to it, of some threads.
            before = ends[(t - step) * items + items - 1] if t >= step else convert(0)
            sync(mask)
            for e in range(items):
                ends[t * items + e] = add(before, ends[t * items + e])
            sync(mask)
            step *= 2
        return ends[count - 1]

    return run_length


def _decoding(
    group: Group,
    element: Element,
    offset: Element,
    values_in: Dispatcher,
    ends_in: Dispatcher,
    wanted: int,
) -> Dispatcher:
    """The device function ``(memory, items, first)``, or with places in runs, that decodes a
    window of kept runs."""
    count, locate, sync = group.count, group.place, group.sync
    get, put, convert = element.get, element.put, offset.cast

    @jit(device=True)
    def decode(memory, outputs, first, *places):
        tile, ends = values_in(memory), ends_in(memory)
        t, _, mask = locate()
        for e in range(wanted):
            i = convert(first + t * wanted + e)
            low, high = 0, count - 1
            while low < high:
                middle = (low + high) // 2
                if ends[middle] <= i:
                    low = middle + 1
                else:
                    high = middle
            put(outputs, e, get(tile, low))
            if len(places) > 0:
                begin = ends[low - 1] if low > 0 else convert(0)
                places[0][e] = i - begin
        sync(mask)

    return decode
