"""``lower_bound`` and ``upper_bound``."""

from __future__ import annotations

from functools import partial
from typing import Any

from gridlane.algorithms.face.calling import (
    Prepared,
    access,
    build,
    checked_count,
    readable,
    writable,
)
from gridlane.algorithms.inner.scratch import Layout
from gridlane.algorithms.inner.search import search
from gridlane.algorithms.operators import OpKind, operator


def _prepare(
    upper: bool,
    *,
    d_data: Any,
    d_values: Any,
    d_out: Any,
    comp: Any = None,
    num_items: Any = 0,
    num_values: Any = 0,
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


_lower, _upper = partial(_prepare, False), partial(_prepare, True)


def lower_bound(
    *,
    d_data: Any,
    num_items: int,
    d_values: Any,
    num_values: int,
    d_out: Any,
    comp: Any = None,
    stream: Any = None,
) -> None:
    """Store for each value the first place in the sorted ``d_data`` whose item is not less.

    Args:
        d_out: of numpy.uintp.
        comp: ``comp(a, b)`` is whether ``a`` comes before ``b``; ``OpKind.LESS`` by default.

    Raises:
        TypeError, ValueError, CompileError: as ``reduce_into``; ValueError for another ``d_out``.
    """
    _lower(
        d_data=d_data,
        num_items=num_items,
        d_values=d_values,
        num_values=num_values,
        d_out=d_out,
        comp=comp,
    ).run(None, stream)


def upper_bound(
    *,
    d_data: Any,
    num_items: int,
    d_values: Any,
    num_values: int,
    d_out: Any,
    comp: Any = None,
    stream: Any = None,
) -> None:
    """Store for each value the first place in the sorted ``d_data`` whose item is greater; see
    ``lower_bound``."""
    _upper(
        d_data=d_data,
        num_items=num_items,
        d_values=d_values,
        num_values=num_values,
        d_out=d_out,
        comp=comp,
    ).run(None, stream)


def make_lower_bound(
    *, d_data: Any, d_values: Any, d_out: Any, comp: Any = None, **options: Any
) -> Any:
    """The search of such arguments as an object, ``PlainAlgorithm``."""
    return build(
        "lower_bound", _lower, options, False, d_data=d_data, d_values=d_values, d_out=d_out,
        comp=comp,
    )  # fmt: skip


def make_upper_bound(
    *, d_data: Any, d_values: Any, d_out: Any, comp: Any = None, **options: Any
) -> Any:
    """The search of such arguments as an object, ``PlainAlgorithm``."""
    return build(
        "upper_bound", _upper, options, False, d_data=d_data, d_values=d_values, d_out=d_out,
        comp=comp,
    )  # fmt: skip
