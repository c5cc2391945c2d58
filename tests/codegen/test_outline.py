"""Large kernels for the CPU become several functions, which give the same answers."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys

import llvmlite.binding as llvm
import numpy as np
import pytest
from benchmarks import literals
from hypothesis import given, settings
from tests.cpus.cases import assert_right, by_op, expected, run
from tests.devices import assert_same, run_on
from tests.effort import examples
from tests.property.test_interp_cpu import SETTINGS, apart, check, seeds, sizes

from gridlane import compiler, cuda
from gridlane.codegen.llvm import machine
from gridlane.codegen.llvm.cpu import kernel as cpu_kernel
from gridlane.codegen.llvm.outline import outlined
from gridlane.codegen.llvm.outline.liveness import Liveness, read, slots_of
from gridlane.codegen.llvm.outline.result_types import bytes_of, result_type
from gridlane.codegen.llvm.text import CUT_END, CUT_START, Body
from gridlane.core.options import KernelOptions, Target
from gridlane.cuda import float32, int32

MADE = re.compile(r"^  (%[\w.]+) = (.*)", re.M)


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The LLVM IR that is compiled from now on."""
    found: list[str] = []
    original = machine.object_code

    def noted(text: str, *rest) -> bytes:
        found.append(text)
        return original(text, *rest)

    monkeypatch.setattr(machine, "object_code", noted)
    # In this process, however many it has compiled.
    monkeypatch.setattr("gridlane.codegen.llvm.apart.FIRST", 1 << 30)
    return found


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kernel is split, into functions of a few lines."""
    monkeypatch.setattr(cpu_kernel, "LARGE", -1)
    monkeypatch.setattr(cpu_kernel, "PIECE", 6)


def functions_of(text: str) -> list[str]:
    """The functions of a module."""
    return re.findall(r"^define .*?^}", text, re.M | re.S)


# ---- the pass over text


def split(body: Body) -> str:
    """The module of ``f(ptr %out, i32 %n)``, which LLVM accepts, with its pieces."""
    made = outlined("f", {"%out": "ptr", "%n": "i32"}, body.allocas, body.lines)
    frame = f"  %frame = alloca [{made.frame + 1} x i8], align 64"
    lines = ["define void @f(ptr %out, i32 %n) {", "entry:", *body.allocas, frame, *made.lines, "}"]
    text = "\n".join([*lines, *made.functions, "attributes #1 = { noinline }\n"])
    llvm.parse_assembly(text).verify()
    return text


def body_of(first: list[str], *pieces: list[str]) -> Body:
    """A body with pieces after its first lines."""
    body = Body()
    body.lines += first
    body.piece = 1
    for lines in pieces:
        start = body.here()
        body.lines += lines
        body.cut(start)
    body.do("ret void")
    return body


def loaded(function: str) -> list[str]:
    """The values that a function loads from the frame."""
    return re.findall(r"(%\w+) = load \w+, ptr %frame", function)


def test_a_value_of_another_piece_goes_through_the_frame() -> None:
    pieces = ["  %b = mul i32 %a, %n"], ["  store i32 %b, ptr %out"]
    whole, first, second = functions_of(split(body_of(["  %a = add i32 %n, 1"], *pieces)))
    assert "store i32 %a, ptr %frame." in whole
    assert loaded(first) == ["%a", "%n"] and "store i32 %b, ptr %frame." in first
    assert loaded(second) == ["%b", "%out"]


def test_the_code_around_loads_what_a_piece_makes() -> None:
    body = body_of([], ["  %a = add i32 %n, 1"])
    body.lines[-1:] = ["  store i32 %a, ptr %out", "  ret void"]
    whole, _ = functions_of(split(body))
    assert whole.index("call i32") < whole.index("%a = load i32") < whole.index("store i32 %a")


def test_a_value_that_no_other_piece_uses_stays() -> None:
    lines = ["  %b = mul i32 %n, %n", "  %c = add i32 %b, 1"]
    assert not re.search(r"store i32 %[abc]", split(body_of(["  %a = add i32 %n, 1"], lines)))


def test_a_jump_out_of_a_piece_returns_a_number() -> None:
    test = ["  %c = icmp eq i32 %n, 0", "  br i1 %c, label %away, label %on", "on:"]
    body = body_of([], [*test, "  store i32 1, ptr %out"])
    body.lines += ["away:", "  ret void"]
    whole, piece = functions_of(split(body))
    assert re.search(r"switch i32 %exit.1, label %away \[i32 1, label %cut\d\]", whole)
    assert re.search(r"away:\n  ret i32 0\ncut\d:\n  ret i32 1", piece)


def test_a_phi_is_stored_after_all_phis() -> None:
    jumps = ["  br i1 true, label %b1, label %b2", "b1:", "  br label %b3", "b2:"]
    phis = [f"  %{name} = phi i32 [ 1, %b1 ], [ 2, %b2 ]" for name in "xy"]
    piece = [*jumps, "  br label %b3", "b3:", *phis]
    text = split(body_of([], piece, ["  %s = add i32 %x, %y", "  store i32 %s, ptr %out"]))
    assert text.index("%y = phi") < text.index("store i32 %x") < text.index("store i32 %y")


def test_only_live_slots_go_through_the_frame() -> None:
    """And back only those that the piece writes."""
    body = body_of(
        ["  store i32 %n, ptr %a1", "  store i32 %n, ptr %a2"],
        [*["  %x = load i32, ptr %a1", "  store i32 %x, ptr %a2"], "  store i32 %x, ptr %a3"],
        [*["  %y = load i32, ptr %a2", "  store i32 %y, ptr %a3"], "  %z = load i32, ptr %a1"],
    )
    body.allocas = [f"  %a{n} = alloca i32" for n in (1, 2, 3)]
    _, first, second = functions_of(split(body))
    assert re.findall(r"store i32 %frame\S+, ptr (%a\d)", first) == ["%a1"]
    assert re.findall(r"%frame\S+ = load i32, ptr (%a\d)", first) == ["%a2"]
    assert re.findall(r"store i32 %frame\S+, ptr (%a\d)", second) == ["%a1", "%a2"]
    assert not re.findall(r"%frame\S+ = load i32, ptr (%a\d)", second)


def test_memory_whose_address_is_used_is_no_slot() -> None:
    allocas = [f"  %a{n} = alloca <4 x i32>" for n in range(4)] + ["  %a9 = alloca i8, i32 7"]
    lines = [
        "  store <4 x i32> zeroinitializer, ptr %a0",
        "  %v = load i32, ptr %a1",
        "  %w = getelementptr i32, ptr %a2, i32 %v",
        "  store ptr %a3, ptr %w",
    ]
    assert slots_of(allocas, read(lines)) == {"%a0": "<4 x i32>"}


def test_what_the_next_iteration_reads_is_live_at_the_back_edge() -> None:
    lines = [
        *["  br label %head", "head:", CUT_START, "  %v = load i32, ptr %a", "  br label %step"],
        *[CUT_END, "step:", "  store i32 %v, ptr %b", "  br i1 true, label %head, label %end"],
        *["end:", "  store i32 %v, ptr %a", "  ret void"],
    ]
    live = Liveness(read(lines), ["%a", "%b"])
    assert live.at("head") == live.at("piece 1") == live.at("step") == ["%a"]
    assert live.at("end") == []


def test_an_unknown_instruction_is_refused() -> None:
    with pytest.raises(ValueError, match="landingpad"):
        result_type("landingpad { ptr, i32 } cleanup")


@pytest.mark.parametrize(
    "type_, size",
    [("i1", 1), ("<16 x i1>", 2), ("<8 x double>", 64), ("ptr", 8), ("<4 x ptr>", 32)],
)
def test_bytes_of_types(type_: str, size: int) -> None:
    assert bytes_of(type_) == size


# ---- kernels in pieces


IN_TURNS = {"run_others", "barrier_arrive", "cluster_arrive", "cluster_wait", "cluster_sync"}
"""Ops of kernels whose warps take turns, which are not split."""


@pytest.mark.parametrize("op", [op for op in by_op() if op not in IN_TURNS])
def test_split_ops_and_the_types_of_values(op: str, small_pieces: None, texts: list[str]) -> None:
    """A case of each op gives the interpreter's bits; the types are those that LLVM knows."""
    case = by_op()[op][0]
    assert_right(case, run(case, "host", KernelOptions(opt=False)), expected(case), "host")
    types = {
        (function.name, f"%{made.name}"): str(made.type)
        for function in llvm.parse_assembly(texts[-1]).functions
        for block in function.blocks
        for made in block.instructions
        if made.name
    }
    for function in functions_of(texts[-1]):
        owner = re.search(r'@"?([^"(]+)"?\(', function)
        assert owner is not None
        for name, instruction in MADE.findall(function):
            found = result_type(instruction)
            assert found.replace(" ", "") == types[owner[1], name].replace(" ", ""), instruction


@given(seed=seeds, size=sizes)
@settings(SETTINGS, max_examples=examples(10, 300))
def test_split_kernels_agree(small_pieces: None, seed: int, size: int) -> None:
    check("cpu", apart(seed, 16), size)


@cuda.jit
def carried(values, out):
    """Variables that an iteration leaves to the next one."""
    i = cuda.grid(1)
    total = last = float32(0)
    for k in range(9):
        if k > int32(values[i % values.size]) % 5:
            total += last * float32(0.5)
        last = values[(i + k) % values.size] + total
        if last > float32(40):
            total -= float32(30)
            continue
        total = total + math.sqrt(last)
        if total > float32(25):
            break
    out[i] = total


@cuda.jit
def left_early(values, out):
    i = cuda.grid(1)
    if i >= out.size:
        return
    v = values[i % values.size]
    while v > float32(1):
        v = v * float32(0.5)
        if v < float32(2) and i % 3 == 0:
            out[i] = v
            return
        for k in range(i % 4):
            v -= float32(0.125)
            if k == 2:
                break
    out[i] = -v


@cuda.jit
def in_blocks(values, out):
    """Barriers, shared memory, a local array, atomics."""
    tile = cuda.shared.array(64, float32)
    own = cuda.local.array(4, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = values[i % values.size]
    for k in range(4):
        own[k] = tile[t] * float32(k)
    cuda.syncthreads()
    total = float32(0)
    for step in range(3):
        total += tile[(t + step * 7) % 64] + own[(t + step) % 4]
        cuda.syncthreads()
        tile[t] = total
        cuda.syncthreads()
    if i < out.size:
        out[i] = total
        cuda.atomic.max(out, out.size, float32(int32(total)))


KERNELS = (carried, left_early, in_blocks)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.py_func.__name__)
def test_split_kernels_of_python(kernel, small_pieces: None, texts: list[str]) -> None:
    module = compiler.translate(kernel.py_func, (float32[::1], float32[::1]), KernelOptions())
    values = np.random.default_rng(3).uniform(0, 50, 37).astype(np.float32)
    out = np.zeros(192, np.float32)
    scalars = (37, 4, 150, 4)
    wanted = run_on("interp", module, (3, 1, 1), (64, 1, 1), [values, out], scalars)
    got = run_on("cpu", module, (3, 1, 1), (64, 1, 1), [values, out], scalars)
    assert len(functions_of(texts[-1])) > 5
    assert_same(got.arrays, wanted.arrays, ["values", "out"])


def test_long_kernels_are_split_and_short_ones_are_not(texts: list[str]) -> None:
    for groups in (16, 90):
        module = compiler.translate(literals.kernel(groups), literals.TYPES, KernelOptions())
        compiler.generate(module, Target("cpu", block=literals.BLOCK), KernelOptions(opt=False))
    short, long = map(functions_of, texts)
    assert len(short) == 1 and len(long) > 4
    assert max(function.count("\n") for function in long) < 1.5 * cpu_kernel.PIECE


def test_the_text_is_the_same_in_each_process() -> None:
    """Code is compared byte for byte, between checkouts and in the cache."""
    program = (
        "from gridlane.codegen.llvm.outline import outlined;"
        "lines = [f'  %v{n} = add i32 %n, {n}' for n in range(40)];"
        "lines += [f'  store i32 %v{n}, ptr %a{n}' for n in range(40)] + ['; piece'];"
        "lines += [f'  %w{n} = load i32, ptr %a{n}' for n in range(40)];"
        "lines += [f'  %x{n} = add i32 %v{n}, %w{n}' for n in range(40)];"
        "lines += ['  br label %end', '; end of piece', 'end:', '  ret void'];"
        "allocas = [f'  %a{n} = alloca i32' for n in range(40)];"
        "print(outlined('f', {'%n': 'i32'}, allocas, lines))"
    )
    made = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(made) == 1 and "%a39" in made.pop()
