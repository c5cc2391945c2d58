"""``lower_bound`` and ``upper_bound``."""

from __future__ import annotations

from typing import Any

from gridlane.algorithms.face.calling import (
    Prepared,
    access,
    called,
    checked_count,
    made,
    readable,
    writable,
)
from gridlane.algorithms.inner.scratch import Layout
from gridlane.algorithms.inner.search import search
from gridlane.algorithms.operators import OpKind, operator


def _prepare(
    upper: bool, d_data: Any, num_items: int, d_values: Any, num_values: int, d_out: Any, comp: Any
) -> Prepared:
    count, searches = checked_count(num_items, "num_items"), checked_count(num_values, "num_values")
    data, values = readable(d_data, "d_data", count), readable(d_values, "d_values", searches)
    sink = writable(d_out, "d_out", searches)
    if sink.item is not None and sink.item.dtype.kind != "u":
        raise TypeError(f"d_out has the dtype {sink.item.dtype}; places are unsigned integers")
    if sink.item is not None and sink.item.size != 8:
        raise ValueError(
            f"d_out has the dtype {sink.item.dtype}; places are pointer-sized unsigned integers, "
            "numpy.uintp"
        )
    less = operator(OpKind.LESS if comp is None else comp, 2, data.item, "comp")

    def launch(parts: list[Any], stream: Any) -> None:
        search(access(data), access(values), access(sink), less, upper, count, searches, stream)

    key = (upper, data.kind, values.kind, sink.kind, less.key)
    return Prepared(key, (data, values, sink), Layout(()), launch)


@called
def lower_bound(
    *, d_data: Any, num_items: int, d_values: Any, num_values: int, d_out: Any, comp: Any = None
) -> Prepared:
    """Store for each value the first place in the sorted ``d_data`` whose item is not less.

    Args:
        d_out: of numpy.uintp.
        comp: ``comp(a, b)`` is whether ``a`` comes before ``b``; ``OpKind.LESS`` by default.

    Raises:
        TypeError, ValueError, CompileError: as ``reduce_into``; ValueError for another ``d_out``.
    """
    return _prepare(False, d_data, num_items, d_values, num_values, d_out, comp)


@called
def upper_bound(
    *, d_data: Any, num_items: int, d_values: Any, num_values: int, d_out: Any, comp: Any = None
) -> Prepared:
    """Store for each value the first place in the sorted ``d_data`` whose item is greater; see
    ``lower_bound``."""
    return _prepare(True, d_data, num_items, d_values, num_values, d_out, comp)


make_lower_bound, make_upper_bound = (
    made(
        call.__name__,
        call,
        "The search of such arguments as an object, ``PlainAlgorithm``.",
        {"num_items": 0, "num_values": 0},
        temporary=False,
    )
    for call in (lower_bound, upper_bound)
)
