"""How the vectoriser reads tiles of factors."""

from __future__ import annotations

import pytest
from tests.codegen.test_cpu_shapes import MACHINE
from tests.frontends.triton.running import jit

from gridlane.backends import backend
from gridlane.codegen.llvm import machine
from gridlane.codegen.llvm.cpu import emit_kernel
from gridlane.compiler import pipeline
from gridlane.compiler.layout import lay_out
from gridlane.core import argtypes
from gridlane.core.options import KernelOptions
from gridlane.frontends.triton import language as tl
from gridlane.frontends.triton.source import TileSource


@jit
def product(a, b, c, depth, a_row, a_step, b_row, b_step):
    i, k = tl.arange(0, 64), tl.arange(0, 64)
    total = tl.zeros((64, 64), tl.float32)
    for at in range(0, depth, 64):
        left = tl.load(a + i[:, None] * a_row + (at + k)[None, :] * a_step)
        right = tl.load(b + (at + k)[:, None] * b_row + i[None, :] * b_step)
        total = tl.dot(left, right, total)
    tl.store(c + i[:, None] * 64 + i[None, :], total)


@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
def test_factors_of_any_order_are_read_by_vectors(turned):
    ones = [f"{each}_{'row' if each in turned else 'step'}" for each in "ab"]
    source = TileSource(product, dict.fromkeys(ones, 1), warps=1)
    array = argtypes.ArrayType(argtypes.float32, 1, "A")
    options = KernelOptions(floats="float32")
    module = source.translate((array,) * 3 + (argtypes.int32,) * 3, options)
    pipeline.run(module, backend("cpu"))
    text = emit_kernel(module, lay_out(module.kernel)[0], (32, 1, 1), MACHINE).text
    machine.optimised_text(text, machine.host(), 1)
    assert "gather" not in text and "scatter" not in text
