"""The code of kernels of many products of matrices: each is a call, and each access as well."""

from __future__ import annotations

import re

from tests.frontends.ptx.wmma_kernels import gemm

from gridlane.backends import backend
from gridlane.codegen.llvm.cpu import emit_kernel
from gridlane.codegen.llvm.machine import machine_for
from gridlane.compiler import pipeline
from gridlane.compiler.layout import lay_out
from gridlane.core.options import KernelOptions, Target
from gridlane.frontends.ptx import PtxSource, parse_ptx

OPS, LINES, ARRAYS = 12, 10, 16
"""The most ops of the IR and lines of LLVM IR for a product of 16 times 16 times 16 with its share
of loads, and arrays of the stack for all of them."""


def test_a_kernel_of_64_products() -> None:
    products, target = 64, Target("cpu", block=(64, 1, 1))
    module = PtxSource(parse_ptx(gemm(16)), "gemm").translate((), KernelOptions())
    assert sum(1 for _ in module.kernel.body.walk()) <= OPS * products
    slots, _ = lay_out(module.kernel)
    pipeline.run(module, backend("cpu"), pipeline.conditions(target, KernelOptions()))
    machine = machine_for(target)
    text = emit_kernel(module, slots, (64, 1, 1), machine).text
    kernel = text[: text.index("\n}")]
    assert kernel.count('@"gridlane.mma.16.16.f16.f16.f32"') == 2 * products
    assert kernel.count("\n") <= LINES * products
    assert len(re.findall(r"alloca \[", kernel)) <= ARRAYS
    assert text.count("define internal fastcc void") == 5  # three loads, a store, a product
