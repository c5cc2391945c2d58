"""Kernels of one lane: LLVM vectorises their loops, and those of no others."""

from __future__ import annotations

import numpy as np
import pytest
from tests.codegen.test_cpu_shapes import MACHINE, emitted

import gridlane
from gridlane import cuda
from gridlane.backends import backend
from gridlane.codegen.llvm import machine
from gridlane.codegen.llvm.cpu import emit_kernel
from gridlane.codegen.llvm.machine import ONE_LANE
from gridlane.compiler import pipeline
from gridlane.compiler.layout import lay_out
from gridlane.ir.parser import parse_module
from gridlane.ir.verifier import verify

DOUBLED = """var $k: i64
%zero: i64 = const 0
%one: i64 = const 1
write $k, %zero
loop {
  %i: i64 = read $k
  %ends: b1 = ge %i, %n
  if %ends { break }
  %from: ptr<f32, global> = offset %p, %i
  %to: ptr<f32, global> = offset %q, %i
  %v: f32 = load %from
  %w: f32 = add %v, %v
  store %to, %w
} step {
  %j: i64 = read $k
  %next: i64 = add %j, %one
  write $k, %next
}"""


@pytest.mark.parametrize(("threads", "is_vector"), [(1, True), (2, False)])
def test_loops_are_vectors(threads, is_vector):
    """Two threads have lanes, and one loop over them: both would be vectors of vectors."""
    text = emitted(DOUBLED, block=(threads, 1, 1))
    assert (ONE_LANE in text) == is_vector
    made = machine.optimised_text(text, MACHINE, 2)
    assert ("load <" in made and "vector.body" in made) == is_vector


@pytest.mark.parametrize("n", [1, 7, 64, 133])
def test_results(n):
    @cuda.jit
    def doubled(x, y, n):
        for k in range(n):
            y[k] = x[k] + x[k]

    with gridlane.device("cpu"):
        x, y = np.arange(200.0), np.zeros(200)
        doubled[1, 1](x, y, n)
        assert (y[:n] == 2 * x[:n]).all() and not y[n:].any()
        doubled[1, 1](x, x[1:], n)  # each iteration reads what the one before has written
    assert x[n] == 0.0 and (x[n + 1 :] == np.arange(n + 1.0, 200)).all()


def test_loops_of_one_thread_are_work_for_several_cores():
    """Blocks of one thread run what other blocks have threads for."""
    text = f"kernel @k(%p: ptr<f32, global>, %q: ptr<f32, global>, %n: i64) {{\n{DOUBLED}\n}}"
    works: list[int] = []
    for block in ((1, 1, 1), (2, 1, 1)):
        module = parse_module(text)
        verify(module)
        pipeline.run(module, backend("cpu"))
        works.append(emit_kernel(module, lay_out(module.kernel)[0], block, MACHINE).work)
    assert works[0] > 3 * works[1]


@cuda.jit
def largest(x, column, out):
    found = x[0, column]
    for k in range(1, x.shape[0]):
        found = max(found, x[k, column] + x[k - 1, column])
    out[0] = found


@pytest.mark.parametrize("columns", [1, 2, 7, 64])
@pytest.mark.parametrize("rows", [1, 2, 33, 200])
def test_loops_down_columns(rows, columns):
    x = np.random.default_rng(rows).integers(-99, 99, (rows, columns)).astype(np.int32)
    wanted = x[0]
    for one, other in zip(x[1:], x, strict=False):
        wanted = np.maximum(wanted, one + other)
    with gridlane.device("cpu"):
        for column in range(columns):
            out = np.zeros(1, np.int32)
            largest[1, 1](x, column, out)
            assert out[0] == wanted[column]


def test_the_length_of_rows_is_not_tested():
    """LLVM would have vectors for rows of one element, and scalar code for all others."""
    body = """var $k: i64
var $most: i32
%zero: i64 = const 0
%none: i32 = const 0
%one: i64 = const 1
write $k, %zero
write $most, %none
loop {
  %i: i64 = read $k
  %ends: b1 = ge %i, %n
  if %ends { break }
  %at: i64 = mul %i, %s
  %from: ptr<i32, global> = offset %r, %at
  %v: i32 = load %from
  %m: i32 = read $most
  %w: i32 = max %m, %v
  write $most, %w
} step {
  %j: i64 = read $k
  %next: i64 = add %j, %one
  write $k, %next
}
%found: i32 = read $most
store %r, %found"""
    head = "kernel @k(%r: ptr<i32, global>, %s: i64, %n: i64) {"
    texts = []
    for path in ((), ("shape", 1)):
        module = parse_module(f"{head}\n{body}\n}}")
        module.kernel.params[1].path = path
        verify(module)
        pipeline.run(module, backend("cpu"))
        text = emit_kernel(module, lay_out(module.kernel)[0], (1, 1, 1), MACHINE).text
        texts.append(machine.optimised_text(text, MACHINE, 2))
    assert ["ident.check" in text for text in texts] == [True, False]
    assert all("x i32> @llvm.smax" in text for text in texts)
