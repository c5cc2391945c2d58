"""Arrays that share no memory: LLVM's scopes, and loops that need no test of where arrays lie."""
# ruff: noqa: F821

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.codegen.test_cpu_one_lane import DOUBLED
from tests.codegen.test_cpu_shapes import MACHINE

import gridlane
from gridlane import cuda
from gridlane.backends import backend
from gridlane.codegen.llvm import machine
from gridlane.codegen.llvm.cpu import emit_kernel
from gridlane.compiler import pipeline
from gridlane.compiler.layout import lay_out
from gridlane.compute import Tensor, compute, f64
from gridlane.ir.parser import parse_module


def emitted(are_apart: bool, body: str = DOUBLED) -> str:
    """The LLVM IR of a kernel of one thread."""
    head = "kernel @k(%p: ptr<f32, global>, %q: ptr<f32, global>, %n: i64) {"
    module = parse_module(f"{head}\n{body}\n}}")
    for param in module.kernel.params[:2]:
        param.noalias = are_apart
    pipeline.run(module, backend("cpu"))
    return emit_kernel(module, lay_out(module.kernel)[0], (1, 1, 1), MACHINE).text


def test_each_array_is_a_scope():
    text = emitted(True)
    scopes = re.findall(r"(?:load|store) float.*!alias.scope !(\d+), !noalias !(\d+)", text)
    assert len(scopes) == len(set(scopes)) == 2
    own = [re.search(rf"^!{n} = !{{(!\d+)}}$", text, re.M)[1] for n, _ in scopes]
    others = [re.search(rf"^!{n} = !{{(!\d+)}}$", text, re.M)[1] for _, n in scopes]
    assert own == others[::-1] and own[0] != own[1]
    assert "alias" not in re.sub("noalias (?:readonly )?%", "", emitted(False))


def test_a_loop_of_scopes_is_a_vector_without_a_test():
    texts = [machine.optimised_text(emitted(apart), MACHINE, 2) for apart in (False, True)]
    assert all("vector.body" in text for text in texts)
    tested = [re.search("%(?:diff.check|found.conflict|bound0)", text) for text in texts]
    assert [bool(each) for each in tested] == [True, False]


def test_an_address_of_no_array_has_no_scope():
    """It may be that of any array."""
    body = """%a: u64 = address %p
%b: ptr<f32, global> = from_address %a
%v: f32 = load %b
store %q, %v"""
    text = emitted(True, body)
    assert re.search(r"load float, ptr %\S+ align 4$", text, re.M)
    assert re.search(r"store float .*!alias.scope", text)


@pytest.mark.parametrize("is_apart", [False, True])
def test_results(is_apart):
    @cuda.jit(apart=is_apart)
    def add_rows(x, y, out):
        row = cuda.grid(1)
        for column in range(x.shape[1]):
            out[row, column] += x[row, column] - y[row, column]

    x, y, out = [np.random.default_rng(n).random((3, 37)) for n in range(3)]
    wanted = out + (x - y)
    with gridlane.device("cpu"):
        add_rows[3, 1](x, y, out)
    assert np.array_equal(out, wanted)


@compute
def shift(x: Tensor[f64, "N", "M"], out: Tensor[f64, "N", "M"]):
    for i in range(N):
        for j in range(1, M):
            out[i, j] = x[i, j - 1] + 1.0


def test_a_nest_of_the_same_array_is_not_apart():
    x, other = np.zeros((4, 40)), np.zeros((4, 40))
    with gridlane.device("cpu"):
        shift(x, other)
        shift(x, x)
    assert (other[:, 1:] == 1).all()
    assert np.array_equal(x, np.broadcast_to(np.arange(40.0), (4, 40)))
