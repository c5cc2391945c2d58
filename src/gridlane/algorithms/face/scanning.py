"""``inclusive_scan`` and ``exclusive_scan``."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gridlane.algorithms.arrays import interface_of
from gridlane.algorithms.face.calling import (
    Prepared,
    access,
    check_fits,
    check_in_place,
    checked_count,
    initial,
    made,
    readable,
    writable,
)
from gridlane.algorithms.face.recipes import run
from gridlane.algorithms.face.reducing import Determinism
from gridlane.algorithms.inner.scan import scan, scan_layout
from gridlane.algorithms.iterators import ConstantIterator
from gridlane.algorithms.operators import OpKind, operator
from gridlane.algorithms.sequences import IteratorBase


def _start(value: Any, source: IteratorBase, sink: IteratorBase) -> IteratorBase:
    """Where kernels read the initial value: on the device, if the caller has it there."""
    if value is None:
        item = source.item or sink.item
        if item is None:
            raise TypeError("no argument has the type of the values; give an init_value")
        return ConstantIterator(np.zeros((), item.dtype))
    if isinstance(value, IteratorBase) or interface_of(value) is not None:
        return readable(value, "init_value", 1)
    item, _ = initial(value, sink, "init_value")
    return ConstantIterator(np.asarray(value).astype(item.dtype))


def _prepare(
    inclusive: bool,
    *,
    d_in: Any,
    d_out: Any,
    op: Any,
    init_value: Any = None,
    num_items: Any = 0,
    determinism: Determinism | None = None,
) -> Prepared:
    count = checked_count(num_items, "num_items")
    source, sink = readable(d_in, "d_in", count), writable(d_out, "d_out", count)
    name = "inclusive_scan" if inclusive else "exclusive_scan"
    if init_value is None and not inclusive:
        raise TypeError("exclusive_scan: init_value is required; it is the first item")
    start = _start(init_value, source, sink)
    item = start.item
    if item is None:
        raise TypeError(f"{name}: the type of init_value is unknown")
    check_fits(item, source.item, f"{name} dtype mismatch: input dtype")
    if sink.item is not None:
        check_fits(sink.item, item, f"{name} dtype mismatch: the values' dtype")
    combine = operator(op, 2, item)
    given, any_order = init_value is not None, determinism is Determinism.NOT_GUARANTEED

    def launch(parts: list[Any], stream: Any) -> None:
        check_in_place(source, sink, name)
        scan(
            access(source), access(sink), (source.item, sink.item), combine, item, access(start),
            given, inclusive, count, parts, stream, any_order,
        )  # fmt: skip

    key = (inclusive, source.kind, sink.kind, start.kind, given, combine.key, any_order)
    layout = scan_layout(item, combine, count, any_order)
    return Prepared(key, (source, sink, start), layout, launch)


_inclusive, _exclusive = partial(_prepare, True), partial(_prepare, False)
_LATER = {"num_items": 0, "determinism": None}


def _run(
    inclusive: bool,
    d_in: Any,
    d_out: Any,
    op: Any,
    init_value: Any,
    num_items: Any,
    stream: Any,
    determinism: Determinism | None,
) -> None:
    what = None
    is_number = init_value is None or isinstance(init_value, int | np.integer)
    if isinstance(op, OpKind) and is_number and type(num_items) is int:
        what = "scan", inclusive, op, type(init_value), init_value, num_items, determinism

    def prepare() -> Prepared:
        return _prepare(
            inclusive,
            d_in=d_in,
            d_out=d_out,
            op=op,
            init_value=init_value,
            num_items=num_items,
            determinism=determinism,
        )

    run(what, [d_in, d_out], stream, prepare)


def inclusive_scan(
    *,
    d_in: Any,
    d_out: Any,
    op: Any,
    init_value: Any = None,
    num_items: int,
    stream: Any = None,
    determinism: Determinism | None = None,
) -> None:
    """Store ``init_value op d_in[0] op … op d_in[i]`` in ``d_out[i]``, for ``num_items`` places.

    The values have the type of ``init_value``, on the host or the device, or without one that of
    ``d_in``. The operator is associative. ``d_out`` may be ``d_in``. The results are those of one
    tree, on every device and in each run; ``Determinism.NOT_GUARANTEED`` permits others in the last
    bits of floats, which some devices compute faster.

    Raises:
        TypeError, ValueError, CompileError: as ``reduce_into``.
    """
    _run(True, d_in, d_out, op, init_value, num_items, stream, determinism)


def exclusive_scan(
    *,
    d_in: Any,
    d_out: Any,
    op: Any,
    init_value: Any,
    num_items: int,
    stream: Any = None,
    determinism: Determinism | None = None,
) -> None:
    """Store ``init_value op d_in[0] op … op d_in[i - 1]`` in ``d_out[i]``, for ``num_items``
    places; see ``inclusive_scan``."""
    _run(False, d_in, d_out, op, init_value, num_items, stream, determinism)


make_inclusive_scan = made(
    "inclusive_scan",
    _inclusive,
    "The inclusive scan of such arguments as an object, ``Algorithm``.",
    _LATER,
)
make_exclusive_scan = made(
    "exclusive_scan",
    _exclusive,
    "The exclusive scan of such arguments as an object, ``Algorithm``.",
    _LATER,
    needed=("init_value",),
)
