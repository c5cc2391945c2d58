"""``unary_transform`` and ``binary_transform``."""

from __future__ import annotations

from typing import Any

from gridlane.algorithms.face.calling import (
    Prepared,
    access,
    called,
    check_in_place,
    checked_count,
    made,
    readable,
    writable,
)
from gridlane.algorithms.inner.scratch import Layout
from gridlane.algorithms.inner.transform import transform
from gridlane.algorithms.operators import operator


@called
def unary_transform(*, d_in: Any, d_out: Any, op: Any, num_items: int) -> Prepared:
    """Store ``op(d_in[i])`` in ``d_out[i]`` for ``num_items`` places. ``d_out`` may be ``d_in``.

    Raises:
        TypeError, ValueError, CompileError: as ``reduce_into``.
    """
    count = checked_count(num_items, "num_items")
    source, sink = readable(d_in, "d_in", count), writable(d_out, "d_out", count)
    function = operator(op, 1, source.item)

    def launch(parts: list[Any], stream: Any) -> None:
        check_in_place(source, sink, "unary_transform")
        transform((access(source),), access(sink), function, count, stream)

    return Prepared((source.kind, sink.kind, function.key), (source, sink), Layout(()), launch)


@called
def binary_transform(*, d_in1: Any, d_in2: Any, d_out: Any, op: Any, num_items: int) -> Prepared:
    """Store ``op(d_in1[i], d_in2[i])`` in ``d_out[i]`` for ``num_items`` places.

    Raises:
        TypeError, ValueError, CompileError: as ``reduce_into``.
    """
    count = checked_count(num_items, "num_items")
    first, second = readable(d_in1, "d_in1", count), readable(d_in2, "d_in2", count)
    sink = writable(d_out, "d_out", count)
    function = operator(op, 2, first.item)

    def launch(parts: list[Any], stream: Any) -> None:
        for each in (first, second):
            check_in_place(each, sink, "binary_transform")
        transform((access(first), access(second)), access(sink), function, count, stream)

    key = (first.kind, second.kind, sink.kind, function.key)
    return Prepared(key, (first, second, sink), Layout(()), launch)


make_unary_transform = made(
    "unary_transform",
    unary_transform,
    "The transformation of such arguments as an object, ``PlainAlgorithm``.",
    temporary=False,
)


make_binary_transform = made(
    "binary_transform",
    binary_transform,
    "The transformation of such arguments as an object, ``PlainAlgorithm``.",
    temporary=False,
)
