"""SPIR-V for every op: the specification's validator takes it. That a device which executes it
answers what the interpreter says, tests/ops tests, and this file for what no op's case has."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.codegen.vulkan_machine import find_driver, run_spirv
from tests.devices import assert_same, run_on
from tests.effort import NIGHTLY
from tests.property.random_ir import random_program

from gridlane import compiler, cuda
from gridlane.analysis.uniformity import BlockUniformity
from gridlane.codegen.spirv import disassembled
from gridlane.compiler.generation import lowered
from gridlane.compiler.pipeline import features_of
from gridlane.conformance.cases import INEXACT, Case, arithmetic, emitting, over
from gridlane.conformance.effects import effects
from gridlane.conformance.special import special
from gridlane.core import gpu_abi as abi
from gridlane.core.argtypes import float32, int32
from gridlane.core.compact import ANY, Variant
from gridlane.core.dtypes import FLOATS, f32, f64
from gridlane.core.errors import TargetError
from gridlane.core.features import features as features_named
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.families import REPORTS
from gridlane.ir.ops import arith, math
from gridlane.ir.parser import parse_module
from gridlane.ir.stages import COMMON
from gridlane.ir.verifier import verify

VALIDATOR = shutil.which("spirv-val")
LEGAL = COMMON | REPORTS
# What passes make other ops of.
REPLACED = {"async_copy", "async_commit", "async_wait", "call"}
CASES = [case for case in [*arithmetic(), *effects()] if case.op in LEGAL | REPLACED]
ATOMICS = [case for case in CASES if case.op.startswith("atomic")]


@cache
def vulkan_is_here() -> bool:
    """Whether there is a software device, and the package that reaches it."""
    try:
        import vulkan  # noqa: F401
    except (ImportError, OSError):
        return False
    return find_driver() is not None


def needed(is_here: bool, what: str) -> None:
    """Skip a test for want of a tool, which continuous integration has to have."""
    if is_here:
        return
    if os.environ.get("CI"):
        pytest.fail(f"no {what}, which .ci/run installs")
    pytest.skip(f"no {what}")


@pytest.fixture
def validated(tmp_path: Path):
    """A function that has many modules validated."""
    needed(VALIDATOR is not None, "spirv-val (Debian: spirv-tools)")

    def validate(modules: list[bytes]) -> None:
        for code in modules:
            file = tmp_path / "kernel.spv"
            file.write_bytes(code)
            command = [str(VALIDATOR), "--target-env", "vulkan1.3", str(file)]
            done = subprocess.run(command, capture_output=True, text=True)
            assert not done.returncode, f"{done.stderr}\n{disassembled(code)}"

    return validate


@pytest.fixture
def device() -> None:
    needed(vulkan_is_here(), "lavapipe (Debian: mesa-vulkan-drivers) or the package vulkan")


def spirv_of(module, features: str = "", options: KernelOptions = KernelOptions()) -> bytes:
    return compiler.generate(
        module, Target("vulkan", features=features_named(features)), options
    ).code


def text_of(function, *types, features: str = "", variant: Variant = ANY, **options) -> str:
    chosen = KernelOptions(**options)
    module = compiler.translate(function, types, chosen)
    target = Target("vulkan", features=features_named(features), variant=variant)
    return compiler.text(module, target, "asm", chosen)


# ---- every op

EVERYTHING = "int64 float64 int16 int8 float16 atomic64 subgroup32 float32_atomic_add fma denorm32"
EVERYTHING += " folds_halves mixes_bytes fences_wait keeps_upper_bits folds_wide loses_minus_zero"


@pytest.mark.parametrize("features", ["", EVERYTHING], ids=["default", "everything"])
@pytest.mark.parametrize("part", range(4))
def test_every_op_is_valid(part: int, features: str, validated) -> None:
    chosen = CASES[part::4]
    if not NIGHTLY:  # half of them each way; tests/ops has all run by a driver
        chosen = chosen[bool(features) :: 2]
    validated([spirv_of(case.module, features) for case in chosen])


@pytest.mark.parametrize("part", range(4))
def test_every_function_is_valid(part: int, validated) -> None:
    modules = []
    for cls in sorted(INEXACT, key=lambda cls: cls.name)[part::4]:
        for dtype in FLOATS:
            columns = [np.ones(4, dtype.numpy)] * (2 if issubclass(cls, math.MathBinary) else 1)
            case = over(cls.name, "", [dtype] * len(columns), columns, emitting(cls))
            modules.append(spirv_of(case.module))
    assert len(modules) > 20
    validated(modules)


@pytest.mark.parametrize(
    "type_, ops, features, hidden",
    [
        ("i64", "%k: i64 = const 7 %r: i64 = mul %x, %k", "folds_wide", 1),
        ("i64", "%k: i64 = const 7 %r: i64 = mul %x, %x", "folds_wide", 0),
        # The dividend, and the divisor behind its guard.
        ("i64", "%s: i64 = add %x, %x %r: i64 = div %s, %x", "folds_wide", 2),
        ("i64", "%s: i64 = add %x, %x %r: i64 = min %s, %x", "folds_wide", 2),
        ("i64", "%r: i64 = abs %x", "folds_wide", 1),
        ("i32", "%k: i32 = const 24 %r: i32 = shl %x, %k", "folds_wide", 1),
        ("i32", "%k: i32 = const 23 %r: i32 = shl %x, %k", "folds_wide", 0),
        ("f32", "%r: f32 = const -0x0p0", "loses_minus_zero", 1),
        ("f32", "%k: f32 = const -0x1p-2 %r: f32 = ceil %k", "loses_minus_zero", 1),
        ("f32", "%k: f32 = const -0x1p-2 %r: f32 = mul %x, %k", "loses_minus_zero", 0),
    ],
)
def test_what_is_hidden_from_compilers(type_: str, ops: str, features: str, hidden: int) -> None:
    """An instruction more for each, where the device has the defect."""
    head = f"kernel @k(%p: ptr<{type_}, global>)"
    module = f"{head} {{ %x: {type_} = load %p {ops} store %p, %r }}"
    ways = ["BitwiseOr"] if type_ == "f32" else ["IAdd", "BitwiseXor"]

    def count(features: str) -> int:
        target = Target("vulkan", features=features_named(features))
        text = compiler.text(parse_module(module), target, "asm", KernelOptions())
        return sum(text.count(f" {way} ") for way in ways)

    assert count(f"int64 float64 {features}") - count("int64 float64") == hidden


@pytest.mark.parametrize("features, together", [("", True), ("lone_barriers", False)])
def test_who_comes_to_barriers(features: str, together: bool) -> None:
    """All threads of a block, unless the device's barriers are CUDA's."""

    def early(out):
        t = cuda.threadIdx.x
        if t > out[0]:
            return
        cuda.syncthreads()
        out[t] = t

    module = compiler.translate(early, (int32[::1],), KernelOptions())
    target = Target("vulkan", features=features_named(f"{EVERYTHING} {features}"))
    kernel = lowered(module, target, KernelOptions())[1].kernel
    barriers = [op for op in kernel.body.walk() if op.barrier]
    assert barriers
    assert any(map(BlockUniformity(kernel).divergent, barriers)) is not together


@pytest.mark.parametrize("features", ["", "lone_barriers"])
def test_all_come_to_barriers_of_some_threads(features: str) -> None:
    """Barriers that are CUDA's would join warps that wait apart."""
    case = next(case for case in effects() if str(case) == "barrier_part-count-apart-aligned")
    target = Target("vulkan", features=features_named(f"{EVERYTHING} {features}"))
    kernel = lowered(case.module, target, KernelOptions())[1].kernel
    barriers = [op for op in kernel.body.walk() if op.barrier]
    assert len(barriers) > 1
    assert not any(map(BlockUniformity(kernel).divergent, barriers))


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("case", ATOMICS, ids=str)
def test_atomics_of_the_least_device(case: Case) -> None:
    """tests/ops runs every op for what the device here has, among it atomic sums of f32."""
    launch = (case.module, case.grid, case.block, case.arrays, (), case.shared)
    wanted, got = run_on("interp", *launch), run_spirv(*launch)
    assert got.raised == wanted.raised
    assert_same(got.arrays, wanted.arrays, case.labels)


WORKED_ROUND = (
    "int64 float64 int16 int8 float16 atomic64 folds_zeros folds_halves mixes_bytes "
    "keeps_upper_bits folds_wide loses_minus_zero"
)
"""What the device here has, with what code does for the defects of others."""


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize(
    "case",
    [
        case
        for case in CASES
        if case.op in ("local_array", "load", "store", "popcount", "frexp", "ldexp", "cast")
    ],
    ids=str,
)
def test_work_for_the_defects_of_others(case: Case) -> None:
    launch = (case.module, case.grid, case.block, case.arrays, (), case.shared)
    wanted, got = run_on("interp", *launch), run_spirv(*launch, features=WORKED_ROUND)
    assert_same(got.arrays, wanted.arrays, case.labels)


@pytest.mark.usefixtures("device")
def test_bytes_of_local_arrays_lie_in_words() -> None:
    module = parse_module("""
kernel @k(%out: ptr<i8, global>, %at: ptr<i32, global>) {
  %local: ptr<i8, local> = local_array i8, 6
  %zero: i32 = const 0
  %three: i32 = const 3
  %a: i8 = const 113
  %b: i8 = const -2
  %first: i32 = load %at
  %p: ptr<i8, local> = offset %local, %first
  %q: ptr<i8, local> = offset %local, %three
  store %local, %a
  store %q, %b
  store %p, %b
  %i: i32 = thread_idx x
  %from: ptr<i8, local> = offset %local, %i
  %value: i8 = load %from
  %to: ptr<i8, global> = offset %out, %i
  store %to, %value
}
""")
    for first in range(6):
        arrays = [np.zeros(6, np.int8), np.array([first], np.int32)]
        got = run_spirv(module, (1, 1, 1), (6, 1, 1), arrays, features=WORKED_ROUND).arrays[0]
        wanted = np.array([113, 0, 0, -2, 0, 0], np.int8)
        wanted[first] = -2
        known = np.array([0, 3, first])  # the others were never written
        assert (got[known] == wanted[known]).all(), first


# ---- what is chosen


def saxpy(a, x, y, out, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a * x[i] + y[i]


TYPES = (float32, float32[::1], float32[::1], float32[::1], int32)


def test_coarse_code_is_for_gpus() -> None:
    def made(features: str):
        module = compiler.translate(saxpy, TYPES, KernelOptions())
        target = Target("vulkan", features=features_named(features), variant=Variant(True, True))
        return compiler.generate(module, target)

    assert made("int64").coarse == 4 and made("int64 software").coarse == 1


def test_zeros_are_hidden_where_they_matter() -> None:
    def shifted(x, out):
        i = cuda.grid(1)
        total = float32(0)
        for n in range(4):
            total += x[n]
        out[i] = total + float32(0.5)

    def hidden(**options) -> int:
        types = float32[::1], float32[::1]
        text = text_of(shifted, *types, features="int64 folds_zeros", **options)
        return text.count("BitwiseXor")

    # The sum at two places, but neither what is loaded nor 0.5.
    assert hidden() == hidden(fastmath=True) + 2


def test_contraction_is_asked_for() -> None:
    loose, strict = text_of(saxpy, *TYPES), text_of(saxpy, *TYPES, fma=False)
    assert "NoContraction" not in loose
    assert strict.count("NoContraction") == 2


def test_a_kernel_asks_for_what_it_uses() -> None:
    text = text_of(saxpy, *TYPES)
    asked = {line.split()[1] for line in text.splitlines() if line.startswith("Capability")}
    assert not asked & {"Float64", "Int16", "Int8", "Float16", "Int64Atomics", "DenormPreserve"}
    assert {"Shader", "Int64", "VulkanMemoryModel", "SignedZeroInfNanPreserve"} <= asked
    assert "DenormPreserve" in text_of(saxpy, *TYPES, features="int64 denorm32")


def test_compact_launches_count_in_32_bits() -> None:
    def instructions(**more) -> list[str]:
        text = text_of(saxpy, *TYPES, **more)
        return [line for line in text.splitlines() if "SConvert" in line or "SLess" in line]

    assert len(instructions(variant=Variant(compact=True))) < len(instructions())
    assert instructions(variant=Variant(compact=True), debug=True) == instructions(debug=True)


def test_fast_math_frees_the_signs_of_zeros() -> None:
    assert "SignedZeroInfNanPreserve" not in text_of(saxpy, *TYPES, fastmath=True)


def test_text_of_a_module() -> None:
    text = text_of(saxpy, *TYPES)
    for line in ('ExtInstImport "GLSL.std.450"', "BranchConditional", "Decorate", "EntryPoint 5"):
        assert line in text
    assert text.count("EntryPoint") == 1 and '"saxpy"' in text
    with pytest.raises(ValueError, match="not a SPIR-V module"):
        disassembled(b"nothing of the kind..")


def test_equal_types_and_constants_are_there_once() -> None:
    for line in text_of(saxpy, *TYPES).splitlines():
        if "TypeFloat" in line:
            kept = line
    text = text_of(saxpy, *TYPES)
    assert text.count("TypeFloat 32") == 1 and kept in text
    assert text.count("TypeInt 32 0") == 1


CONSTANT_ZEROS = """
kernel @k(%x: ptr<f32, global>, %o: ptr<f32, global>) {
  %t: i32 = thread_idx x
  %zero: f32 = const 0x0.0p+0
  %minus: f32 = neg %zero
  %false: b1 = const false
  %made: f32 = cast %false
  %from: ptr<f32, global> = offset %x, %t
  %v: f32 = load %from
  %eight: i32 = const 8
  %p0: ptr<f32, global> = offset %o, %t
  %p1: ptr<f32, global> = offset %p0, %eight
  %p2: ptr<f32, global> = offset %p1, %eight
  %p3: ptr<f32, global> = offset %p2, %eight
  %a: f32 = div %v, %zero
  %b: f32 = add %made, %v
  %c: f32 = mul %minus, %v
  %d: f32 = sub %v, %v
  %p4: ptr<f32, global> = offset %p3, %eight
  %e: f32 = div %v, %v
  store %p4, %e
  store %p0, %a
  store %p1, %b
  store %p2, %c
  store %p3, %d
}
"""


@pytest.mark.usefixtures("device")
def test_constant_zeros_are_no_special_case() -> None:
    """As Mesa's lavapipe takes them, where it sees them."""
    module = parse_module(CONSTANT_ZEROS)
    values = np.array([1, -1, 0, -0.0, np.inf, -np.inf, np.nan, 3], np.float32)
    launch = (module, (1, 1, 1), (8, 1, 1), [values, np.full(40, 7, np.float32)])
    wanted, got = run_on("interp", *launch), run_spirv(*launch)
    assert_same(got.arrays, wanted.arrays, ["x", "o"])


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_quotients_and_roots_round_once(dtype) -> None:
    """The device's own f32 quotient may be 2.5 ulp off; ours is exact on any."""
    values = special(dtype, 60)
    case = over("div", "", [dtype] * 2, [values, values[::-1].copy()], emitting(arith.Div))
    wanted = run_on("interp", case.module, case.grid, case.block, case.arrays)
    got = run_spirv(case.module, case.grid, case.block, case.arrays)
    assert_same(got.arrays, wanted.arrays, case.labels)
    if dtype is f32:
        assert "TypeFloat 64" in disassembled(spirv_of(case.module))


# ---- memory and control flow, beyond the cases of single ops

KERNELS = {
    "shared memory by other types": """
global @tile: u8 * 256 [space=shared, align=16]
kernel @k(%out: ptr<u32, global>, %pairs: ptr<f64, global>) {
  %t: i32 = thread_idx x
  %bytes: ptr<u8, shared> = global @tile
  %words: ptr<u32, shared> = recast %bytes
  %doubles: ptr<f64, shared> = recast %bytes
  %eight: i32 = const 8
  %base: i32 = mul %t, %eight
  %two: i32 = const 2
  %first: i32 = mul %t, %two
  %at: ptr<u32, shared> = offset %words, %first
  %value: u32 = cast %t
  store %at, %value
  %one: i32 = const 1
  %five: i32 = const 5
  %inside: i32 = add %base, %five
  %high: ptr<u8, shared> = offset %bytes, %inside
  %octet: u8 = cast %base
  %second: i32 = add %first, %one
  %zero: u32 = const 0
  %next: ptr<u32, shared> = offset %words, %second
  store %next, %zero
  store %high, %octet
  barrier
  %last: i32 = const 31
  %other: i32 = sub %last, %t
  %from: ptr<f64, shared> = offset %doubles, %other
  %pair: f64 = load %from
  %to: ptr<f64, global> = offset %pairs, %t
  store %to, %pair
  %o2: i32 = mul %other, %two
  %o3: i32 = add %o2, %one
  %wp: ptr<u32, shared> = offset %words, %o3
  %w: u32 = load %wp
  %op: ptr<u32, global> = offset %out, %t
  store %op, %w
}
""",
    "wide atomics beside narrow writes": """
global @tile: u64 * 32 [space=shared, align=16]
kernel @k(%out: ptr<u64, global>, %old: ptr<u8, global>) {
  %t: i32 = thread_idx x
  %cells: ptr<u64, shared> = global @tile
  %bytes: ptr<u8, shared> = recast %cells
  %words: ptr<i32, shared> = recast %cells
  %zero: u64 = const 0
  %own: ptr<u64, shared> = offset %cells, %t
  store %own, %zero
  barrier
  %place: ptr<u8, shared> = offset %bytes, %t
  %octet: u8 = cast %t
  store %place, %octet
  barrier
  %four: i32 = const 4
  %eight: i32 = const 8
  %which: i32 = rem %t, %eight
  %spot: i32 = add %which, %eight
  %word: ptr<i32, shared> = offset %words, %spot
  %a: i32 = atomic max, %word, %t
  %far: i32 = const 70
  %b0: ptr<u8, shared> = offset %bytes, %far
  %one: u8 = const 1
  %b: u8 = atomic add, %b0, %one
  %wide: u64 = const 4294967295
  %third: ptr<u64, shared> = offset %cells, %eight
  %c: u64 = atomic add, %third, %wide
  barrier
  %mine: u64 = load %own
  %to: ptr<u64, global> = offset %out, %t
  store %to, %mine
  %o: ptr<u8, global> = offset %old, %t
  %e: u8 = load %place
  store %o, %e
}
""",
    "pointers that are chosen": """
global @a: i32 * 40 [space=shared, align=16]
global @b: i32 * 40 [space=shared, align=16]
kernel @k(%out: ptr<i32, global>) {
  var $p: ptr<i32, shared>
  var $l: ptr<i32, local>
  %t: i32 = thread_idx x
  %pa: ptr<i32, shared> = global @a
  %pb: ptr<i32, shared> = global @b
  %la: ptr<i32, local> = local_array i32, 3
  %lb: ptr<i32, local> = local_array i32, 3
  %one: i32 = const 1
  %bit: i32 = and %t, %one
  %odd: b1 = eq %bit, %one
  %ps: ptr<i32, shared> = select %odd, %pa, %pb
  write $p, %ps
  %ls: ptr<i32, local> = select %odd, %la, %lb
  write $l, %ls
  %hundred: i32 = const 100
  %la1: ptr<i32, local> = offset %la, %one
  %lb1: ptr<i32, local> = offset %lb, %one
  store %la1, %hundred
  store %lb1, %one
  %p: ptr<i32, shared> = read $p
  %own: ptr<i32, shared> = offset %p, %t
  store %own, %t
  barrier
  %oa: ptr<i32, shared> = offset %pa, %t
  %ob: ptr<i32, shared> = offset %pb, %t
  %where: ptr<i32, shared> = select %odd, %oa, %ob
  %same: b1 = eq %where, %own
  %null: ptr<i32, shared> = const 0
  %isnull: b1 = eq %where, %null
  %v: i32 = load %where
  %l: ptr<i32, local> = read $l
  %l1: ptr<i32, local> = offset %l, %one
  %w: i32 = load %l1
  %sum: i32 = add %v, %w
  %bonus: i32 = cast %same
  %malus: i32 = cast %isnull
  %s2: i32 = add %sum, %bonus
  %s3: i32 = sub %s2, %malus
  %to: ptr<i32, global> = offset %out, %t
  store %to, %s3
}
""",
    "a generic pointer to a known place": """
global @a: f32 * 40 [space=shared, align=16]
kernel @k(%out: ptr<u32, global>) {
  %t: i32 = thread_idx x
  %pa: ptr<f32, shared> = global @a
  %g: ptr<u32, generic> = recast %pa
  %at: ptr<u32, generic> = offset %g, %t
  %x: f32 = cast %t
  %own: ptr<f32, shared> = offset %pa, %t
  store %own, %x
  %v: u32 = load %at
  %to: ptr<u32, global> = offset %out, %t
  store %to, %v
}
""",
    "leaving through loops": """
kernel @k(%out: ptr<i32, global>) {
  var $i: i32
  var $j: i32
  var $n: i32
  %t: i32 = thread_idx x
  %one: i32 = const 1
  %three: i32 = const 3
  %thirty: i32 = const 30
  %zero: i32 = const 0
  loop {
    %i: i32 = read $i
    %done: b1 = ge %i, %three
    if %done {
      break
    }
    scope {
      write $j, %zero
      loop {
        loop {
          %n0: i32 = read $n
          %n1: i32 = add %n0, %one
          write $n, %n1
          %j0: i32 = read $j
          %j1: i32 = add %j0, %one
          write $j, %j1
          %many: b1 = gt %n1, %t
          if %many {
            leave
          }
          %r: i32 = rem %j1, %three
          %end: b1 = eq %r, %zero
          if %end {
            break
          }
          %enough: b1 = gt %j1, %thirty
          if %enough {
            return
          } orelse {
            continue
          }
        } step {
          %n2: i32 = read $n
          write $n, %n2
        }
        %j2: i32 = read $j
        %stop: b1 = gt %j2, %three
        if %stop {
          break
        }
      }
      %n3: i32 = read $n
      %n4: i32 = add %n3, %thirty
      write $n, %n4
    }
  } step {
    %i2: i32 = read $i
    %i3: i32 = add %i2, %one
    write $i, %i3
  }
  %n: i32 = read $n
  %to: ptr<i32, global> = offset %out, %t
  store %to, %n
}
""",
}
ARRAYS = {
    "shared memory by other types": (np.uint32, np.float64),
    "wide atomics beside narrow writes": (np.uint64, np.uint8),
    "pointers that are chosen": (np.int32,),
    "a generic pointer to a known place": (np.uint32,),
    "leaving through loops": (np.int32,),
}


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("name", KERNELS)
def test_kernel(name: str, validated) -> None:
    module = parse_module(KERNELS[name])
    verify(module)
    validated([spirv_of(module)])
    arrays = [np.zeros(32, dtype) for dtype in ARRAYS[name]]
    launch = (module, (1, 1, 1), (32, 1, 1), arrays)
    wanted, got = run_on("interp", *launch), run_spirv(*launch)
    assert_same(got.arrays, wanted.arrays, [f"array {n}" for n in range(len(arrays))])
    assert any(array.any() for array in wanted.arrays)


MIXED = """
global @a: i32 * 40 [space=shared, align=16]
kernel @k(%out: ptr<i32, global>, %which: b1) {
  %pa: ptr<i32, shared> = global @a
  %ga: ptr<i32, generic> = recast %pa
  %go: ptr<i32, generic> = recast %out
  %g: ptr<i32, generic> = select %which, %ga, %go
  %v: i32 = load %g
  store %out, %v
}
"""


def test_a_pointer_to_either_memory_is_refused() -> None:
    with pytest.raises(TargetError, match="a pointer to the array a cannot become"):
        spirv_of(parse_module(MIXED))


def test_grid_barriers_are_refused() -> None:
    case = next(case for case in effects() if case.op == "grid_sync")
    with pytest.raises(TargetError, match="has no grid_sync: its blocks need"):
        spirv_of(case.module)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("seed", [*range(24), 30, 325])  # the last two found zeros that fold
def test_random_program(seed: int) -> None:
    program = random_program(seed, 2 + seed % 40 if seed < 24 else {30: 35, 325: 36}[seed])
    launch = (program.module, program.grid, program.block, program.arrays, program.scalars)
    wanted, got = run_on("interp", *launch), run_spirv(*launch)
    assert got.raised == wanted.raised
    assert_same(got.arrays, wanted.arrays, program.labels)


# ---- reports


def checks(x, n):
    i = cuda.grid(1)
    if i == 5:
        print("n", n, x[i])
    assert i < n, "too large"
    x[i] = 1


def fenced(x):
    cuda.threadfence()
    x[0] = 1


def test_fences_that_wait_are_those_of_one_device() -> None:
    """A barrier of the device, or two of the subgroup round an atomic."""
    strong = text_of(fenced, float32[::1], features="int64")
    weak = text_of(fenced, float32[::1], features="int64 fences_wait")
    assert strong.count("MemoryBarrier") == 1 and "Atomic" not in strong
    assert weak.count("MemoryBarrier") == 2 and weak.count("AtomicIAdd") == 1


@pytest.mark.usefixtures("device")
def test_reports() -> None:
    options = KernelOptions(debug=True, opt=False)
    module = compiler.translate(checks, (float32[::1], int32), options)
    artifact = compiler.generate(module, Target("vulkan"), options)
    assert any(site.exception == "AssertionError" for site in artifact.errors)
    assert len(artifact.prints) == 1
    x = np.full(64, 2.5, np.float32)
    scalars_ = [64, 4, 40]
    got = run_spirv(module, (2, 1, 1), (32, 1, 1), [x], tuple(scalars_))
    words = np.frombuffer(got.report, np.uint32)
    assert got.raised
    assert artifact.errors[words[abi.ERROR_OFFSET // 4] - 1].message == "too large"
    thread = words[abi.THREAD_OFFSET // 4 :][:3], words[abi.BLOCK_OFFSET // 4 :][:3]
    assert thread[1].tolist() == [1, 0, 0] and 8 <= thread[0][0] < 32
    assert (got.arrays[0] == 1).sum() == 40
    record = abi.RECORDS_OFFSET // 4
    assert words[abi.PRINT_HEAD_OFFSET // 4] == 24 and words[record] == 1
    assert words[record + 2] == 40
    assert words[record + 4 : record + 5].view(np.float32)[0] == 2.5


# ---- refusals


def test_features() -> None:
    assert features_of(Target("vulkan")) >= {"int64", "float64"}
    with pytest.raises(TargetError, match="'int128' is no feature of a device; there are atomic64"):
        features_named("int64 int128")
    with pytest.raises(TargetError, match="'es' is no feature of Vulkan devices; there are"):
        features_of(Target("vulkan", features=features_named("int64 es")))


def test_no_other_stage() -> None:
    module = compiler.translate(saxpy, TYPES, KernelOptions())
    with pytest.raises(TargetError, match="no stage 'llvm'"):
        compiler.text(module, Target("vulkan"), "llvm")
