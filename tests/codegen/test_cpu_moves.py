"""A short vector in memory is moved whole: its bytes by the interpreter, its moves in assembly."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.codegen.test_cpu_shapes import INDEX
from tests.cpus.cases import require

from gridlane.backends import backend
from gridlane.codegen.llvm import machine
from gridlane.codegen.llvm.cpu import emit_kernel
from gridlane.codegen.llvm.cpu.moves import MOST_IN_LINE
from gridlane.compiler import generate, pipeline
from gridlane.compiler.layout import lay_out
from gridlane.conformance.module_runner import run_artifact, run_on
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.parser import parse_module
from gridlane.launch.devices import get_device

BLOCK = (52, 1, 1)
WORDS = {"STRONG": " [volatile=true]", "WEAK": ""}
ADDRESSES = {
    "one for all": "%j: i64 = const 3",
    "adjacent": "%j: i64 = add %i, %zero",
    "apart": "%j: i64 = mul %i, %three",
    "anywhere": "%a: ptr<i64, global> = offset %places, %i\n  %j: i64 = load %a",
}
TYPES = {
    "u64, 2": np.uint64,
    "i32, 4": np.int32,
    "f64, 4": np.float64,
    "f32, 2": np.float32,
    "f16, 8": np.float16,
    "u8, 16": np.uint8,
    "i32, 3": np.int32,
}
VECTORS = ", ".join(f"%{name}: ptr<vec<KIND>, global>" for name in "pq")
TEXT = """kernel @k(VECTORS, %places: ptr<i64, global>) {
INDEX
  %zero: i64 = const 0
  %one: i64 = const 1
  %three: i64 = const 3
  %four: i64 = const 4
  JOINT
  %from: ptr<vec<KIND>, global> = offset %p, %j
  %place: i64 = mul %j, %four
  %to: ptr<vec<KIND>, global> = offset %q, %place
  %next: ptr<vec<KIND>, global> = offset %to, %one
  %near: ptr<vec<KIND>, global> = offset %to, %three
  %rest: i64 = and %i, %four
  %apart: b1 = ne %rest, %zero
  if %apart {
    %v: vec<KIND> = load %fromHOW
    store %to, %vHOW
  } orelse {
    %far: ptr<vec<KIND>, global> = offset %from, %one
    %w: vec<KIND> = load %farHOW
    store %next, %wHOW
  }
  %again: vec<KIND> = load %fromHOW
  store %near, %againHOW
}"""


def text_of(kind: str, where: str, how: str) -> str:
    text = (
        TEXT.replace("VECTORS", VECTORS)
        .replace("KIND", kind)
        .replace("INDEX", INDEX)
        .replace("JOINT", ADDRESSES[where])
    )
    return text.replace("HOW", WORDS[how])


@pytest.mark.parametrize("processor", ["x86-64", "host"])
@pytest.mark.parametrize("how", WORDS)
@pytest.mark.parametrize("kind", TYPES)
def test_values(kind: str, how: str, processor: str) -> None:
    require(processor)
    count = int(kind.split(", ")[1])
    source = np.arange(640 * count).astype(TYPES[kind])
    places = np.random.default_rng(3).permutation(BLOCK[0]) * 2
    for where in ADDRESSES:
        module = parse_module(text_of(kind, where, how))
        arrays = [source, np.zeros_like(source), places.astype(np.int64)]
        wanted = run_on("interp", module, (1, 1, 1), BLOCK, arrays)
        target = Target("cpu", block=BLOCK, processor=processor)
        artifact = generate(module, target, KernelOptions())
        copies = [np.array(array) for array in arrays]
        got = run_artifact(get_device("cpu"), artifact, (1, 1, 1), BLOCK, copies, (), 0)
        for mine, theirs in zip(got.arrays, wanted.arrays, strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg=where)


def assembly(processor: str, body: str) -> str:
    head = f"kernel @k({VECTORS}, %n: i64) {{\n{INDEX}"
    module = parse_module(f"{head}{body}\n}}".replace("KIND", "u64, 2"))
    pipeline.run(module, backend("cpu"))
    made = machine.machine_for(Target("cpu", processor=processor))
    text = emit_kernel(module, lay_out(module.kernel)[0], (32, 1, 1), made).text
    return machine.assembly(text, made)


FOR_ALL = """
  %v: vec<KIND> = load %pHOW
  store %q, %vHOW
"""
FOR_EACH = """
  %half: i64 = shr %i, %n
  %from: ptr<vec<KIND>, global> = offset %p, %half
  %v: vec<KIND> = load %fromHOW
  %to: ptr<vec<KIND>, global> = offset %q, %half
  store %to, %vHOW
"""
WHOLE = {
    "x86-64": r"cmpxchg16b",
    "haswell": r"vmov(?:dq|ap)[as]\s.*xmm",
    "x86-64-v4": r"vmov(?:dq|ap)[as]\s.*xmm",
    "generic": r"ld[a]?xp\s+x|st[l]?xp\s",
    "neoverse-n1": r"casp\s",
    "neoverse-v2": r"(?:ldp|stp)\s+x\d+, x\d+, \[x\d+(?:, #\d+)?\]",
}


@pytest.mark.parametrize("processor", WHOLE)
@pytest.mark.parametrize("body", [FOR_ALL, FOR_EACH], ids=["for all", "for each"])
def test_strong_accesses_are_atomic(processor: str, body: str) -> None:
    """As LLVM makes them for the processor: one instruction, or a loop that tries until nobody came
    between."""
    lanes = 1 if body is FOR_ALL else 32
    text = assembly(processor, body.replace("HOW", WORDS["STRONG"]))
    assert len(re.findall(WHOLE[processor], text)) >= 2 * lanes
    assert "__atomic" not in text


@pytest.mark.parametrize("processor", ["haswell", "neoverse-v2"])
def test_weak_accesses_are_one_instruction(processor: str) -> None:
    """Also where each part is used by itself, which LLVM would load by itself; as it may from
    memory that the kernel does not write."""
    parts = """
  %v: vec<KIND> = load %p
  %e0: u64 = part %v, 0
  %e: u64 = part %v, 1
  %c: u64 = mul %e0, %e
  %w: vec<KIND> = pack (%c, %e0)
  store %p, %w
"""
    text = assembly(processor, parts)
    one = {"haswell": r"vmovdqa\s+\(%r", "neoverse-v2": r"ldp\s+x\d+, x\d+, \[x\d+\]"}
    assert re.search(one[processor], text), text
    if processor == "haswell":
        assert not re.search(one[processor], assembly(processor, parts.replace("e %p,", "e %q,")))


@pytest.mark.parametrize("count", [MOST_IN_LINE, MOST_IN_LINE + 1])
def test_a_function_that_is_called_often_stays_one(count: int) -> None:
    lines = [INDEX, "%three: i64 = const 3", "%j: i64 = mul %i, %three"]
    lines.append("%from: ptr<vec<i32, 4>, global> = offset %p, %j")
    lines += [f"%v{n}: vec<i32, 4> = load %from" for n in range(count)]
    lines += [f"store %to, %v{n}" for n in range(count)]
    lines.insert(3, "%to: ptr<vec<i32, 4>, global> = offset %q, %j")
    vectors = ", ".join(f"%{name}: ptr<vec<i32, 4>, global>" for name in "pq")
    module = parse_module(f"kernel @k({vectors}) {{\n" + "\n".join(lines) + "\n}")
    pipeline.run(module, backend("cpu"))
    code = emit_kernel(module, lay_out(module.kernel)[0], (64, 1, 1), machine.host())
    kept = [line for line in code.text.split("\n") if "define internal fastcc" in line]
    assert len(kept) == 2
    assert all(("noinline" in line) == (count > MOST_IN_LINE) for line in kept)
