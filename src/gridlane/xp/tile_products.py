"""Large products of matrices of floats on processors: a tile program.

It adds products as ``product_kernels`` does, which other devices run: ``SPAN`` of them one after
the other to a partial sum, each rounded, and the partial sums in order. So the bits are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core import argtypes
from gridlane.core.argtypes import ArgType, ArrayType
from gridlane.core.numpy_types import from_numpy
from gridlane.core.options import KernelOptions
from gridlane.frontends.triton import language as tl
from gridlane.frontends.triton.source import TileSource
from gridlane.launch.kernel import Kernel
from gridlane.tiles.kernels.programs.rounded_products import rounded_product
from gridlane.xp.groups import Form
from gridlane.xp.product_kernels import Tiles


def kernel_of(form: Form, tiles: Tiles, options: KernelOptions) -> Kernel:
    """The kernel of a form, with the parameters of ``xp.kernels.module_of``."""
    assert form.product is not None
    result, sums = form.product
    constants: dict[Any, Any] = {
        "M": tiles.rows, "N": tiles.columns, "K": tiles.inner,
        "SUM": getattr(tl, sums.name), "INDEX": tl.int64 if tiles.wide else tl.int32,
    }  # fmt: skip
    if form.rank == 3:
        constants |= {"stack": 1, "a_stack": 0, "b_stack": 0}
    axes = ("stack", "row", "column", "inner")[-form.rank :]
    for name, (_, _, steps) in zip("ab", form.steps, strict=True):
        known = zip(axes, steps, strict=True)
        constants |= {f"{name}_{axis}": step for axis, step in known if step is not None}
    number = argtypes.int64 if tiles.wide else argtypes.int32
    arrays = [_array(form.steps[0][1]), _array(form.steps[1][1]), _array(result)]
    rest = len(rounded_product.arg_names) - len(arrays) - len(constants)
    types: tuple[ArgType, ...] = (*arrays, *[number] * rest)
    return Kernel(TileSource(rounded_product, constants), types, options)


def _array(dtype: np.dtype[Any]) -> ArrayType:
    return ArrayType(from_numpy(dtype), 1, "C")
