"""The meaning of ``ir.ops.memory_products``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gridlane.interp.matrix import warps_of
from gridlane.interp.state import WARP, Frame
from gridlane.interp.values import ADDRESS, Array, Lanes, numpy_of
from gridlane.ir.op import Op
from gridlane.ir.ops.memory import element_of
from gridlane.ir.ops.memory_products import WarpProduct


def _product(
    frame: Frame,
    op: WarpProduct,
    mask: Array,
    left: Array,
    right: Array,
    sums: Array,
    *ahead: Array,
) -> None:
    memory, dtype = frame.block.launch.memory, numpy_of(element_of(op, op.sums))
    factor = numpy_of(element_of(op, op.left))

    def places(first: Array, rows: int, columns: int, of: np.dtype) -> Array:
        return first + np.arange(rows * columns, dtype=ADDRESS) * ADDRESS.type(of.itemsize)

    for warp in warps_of(mask, left, right, sums):
        lane = warp * WARP
        a = memory.gather(places(left[lane], op.rows, op.depth, factor), factor)
        b = memory.gather(places(right[lane], op.depth, op.columns, factor), factor)
        pitch = op.pitch or op.columns
        steps = (np.arange(op.rows)[:, None] * pitch + np.arange(op.columns)).reshape(-1)
        where = sums[lane] + steps.astype(ADDRESS) * ADDRESS.type(dtype.itemsize)
        total = memory.gather(where, dtype).reshape(op.rows, op.columns)
        a = _matrix(a.astype(dtype), op.rows, op.depth, op.turned_left)
        b = _matrix(b.astype(dtype), op.depth, op.columns, op.turned_right)
        with np.errstate(all="ignore"):
            for k in range(op.depth):
                total = total + a[:, k, None] * b[k]
        memory.scatter(where, total.reshape(-1))


def _matrix(elements: Array, rows: int, columns: int, turned: bool) -> Array:
    return elements.reshape(columns, rows).T if turned else elements.reshape(rows, columns)


OBSERVE: dict[type[Op], Callable[..., Lanes | None]] = {WarpProduct: _product}
