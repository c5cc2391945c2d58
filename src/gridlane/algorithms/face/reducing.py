"""``reduce_into``."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from gridlane.algorithms.face.calling import (
    Prepared,
    access,
    check_fits,
    checked_count,
    initial,
    made,
    readable,
    writable,
)
from gridlane.algorithms.face.recipes import run
from gridlane.algorithms.inner.reduce import reduce, reduce_layout
from gridlane.algorithms.operators import OpKind, operator


class Determinism(IntEnum):
    """What is promised of repeated reductions. Every reduction here is deterministic."""

    NOT_GUARANTEED = 0
    RUN_TO_RUN = 1
    GPU_TO_GPU = 2


def _prepare(
    *, d_in: Any, d_out: Any, op: Any, h_init: Any, num_items: Any = 0, determinism: Any = None
) -> Prepared:
    count = checked_count(num_items, "num_items")
    source, sink = readable(d_in, "d_in", count), writable(d_out, "d_out", min(count, 1))
    item, init = initial(h_init, sink, "h_init")
    check_fits(item, source.item, "reduce_into dtype mismatch: input dtype")
    if sink.item is not None:
        check_fits(sink.item, item, "reduce_into dtype mismatch: h_init dtype")
    combine = operator(op, 2, item)

    def launch(parts: list[Any], stream: Any) -> None:
        reduce(access(source), access(sink), combine, item, init, count, parts[0], stream)

    key = (source.kind, sink.kind, combine.key, item, determinism)
    return Prepared(key, (source, sink), reduce_layout(item), launch)


def reduce_into(
    *,
    d_in: Any,
    d_out: Any,
    num_items: int,
    op: Any,
    h_init: Any,
    stream: Any = None,
    determinism: Determinism | None = None,
) -> None:
    """Store ``h_init op d_in[0] op … op d_in[num_items - 1]`` in ``d_out[0]``.

    The values have the type of ``h_init``. The operator is associative and commutative. The order
    of its applications depends on ``num_items`` alone.

    >>> import numpy as np
    >>> from gridlane import algorithms
    >>> out = np.zeros(1, np.int32)
    >>> algorithms.reduce_into(
    ...     d_in=np.arange(5, dtype=np.int32), d_out=out, num_items=5,
    ...     op=lambda a, b: a + b, h_init=np.int32(100),
    ... )
    >>> int(out[0])
    110

    Raises:
        TypeError: types that do not convert; no operator, or one that captures a changing value.
        ValueError: a negative count, an array that is too short, arrays on several devices.
        CompileError: kernels cannot run the operator; it shows the line.
    """

    def prepare() -> Prepared:
        return _prepare(
            d_in=d_in,
            d_out=d_out,
            op=op,
            h_init=h_init,
            num_items=num_items,
            determinism=determinism,
        )

    what = None
    if isinstance(op, OpKind) and isinstance(h_init, np.generic) and type(num_items) is int:
        what = "reduce", op, type(h_init), h_init.tobytes(), num_items
    run(what, [d_in, d_out], stream, prepare)


make_reduce_into = made(
    "reduce_into", _prepare, "The reduction of such arguments as an object, ``Algorithm``."
)
