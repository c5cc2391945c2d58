"""Guards: the same bits, and every marked op has its operands inside, which the interpreter
checks."""

from __future__ import annotations

import re
from collections.abc import Container

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.devices import run_on
from tests.effort import examples
from tests.passes.legalizing import check, copied, ops_of, tried
from tests.property.random_ir import random_program

from gridlane.backends import _known as known
from gridlane.backends import backend, backends
from gridlane.compiler import generate
from gridlane.conformance import cases, effects
from gridlane.core.dtypes import DType, by_name
from gridlane.core.errors import KernelError, TargetError
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.op import Op
from gridlane.ir.ops import arith
from gridlane.ir.parser import parse_module
from gridlane.ir.values import Module
from gridlane.passes.legalise import guards
from gridlane.passes.tiles import has_tiles

TABLES = {"vectors": guards.VECTORS, "gpu": guards.GPU, "shaders": guards.SHADERS}


def has_domain(op: Op) -> bool:
    first = next(op.operands(), None)
    if first is None or not isinstance(first.type, DType):
        return False
    if isinstance(op, arith.Cast):
        return first.type.is_float and op.type.is_integer
    return type(op) in guards.GPU and first.type.is_integer


CASES = [
    case
    for case in [*cases.arithmetic(), *effects.effects()]
    if any(map(has_domain, ops_of(case.module))) and not has_tiles(case.module)
]


def all_inside(module: Module, rules: Container[type[Op]]) -> None:
    """Every op with a domain that a rule is about is marked."""
    for op in ops_of(module):
        if has_domain(op):
            assert op.inside == (type(op) in rules), op  # type: ignore[attr-defined]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("case", tried(CASES), ids=str)
def test_the_answer_stays(case: cases.Case, table: str) -> None:
    rules = TABLES[table]
    all_inside(check(case, lambda module: guards.guard_operands(module, rules)), rules)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 40))
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(20, 500))
def test_random_programs(seed: int, size: int) -> None:
    for table in TABLES.values():
        program = random_program(seed, size)
        marked = check(program, lambda module, by=table: guards.guard_operands(module, by))
        all_inside(marked, table)


TEXT = """
kernel @k(%p: ptr<i32, global>, %q: ptr<i32, global>) {{
  %x: i32 = load %p
  %y: i32 = load %q
  {op}
  store %p, %z
}}
"""
OUTSIDE = (
    *("div %x, %y; 1 0", "div %x, %y; -2147483648 -1", "rem %x, %y; 1 0"),
    *("rem %x, %y; -2147483648 -1", "shl %x, %y; 1 32", "shr %x, %y; 1 -1"),
)


@pytest.mark.parametrize("row", OUTSIDE)
def test_the_interpreter_checks_the_mark(row: str) -> None:
    op, numbers = row.split("; ")
    arrays = [np.array([int(n)], np.int32) for n in numbers.split()]
    one = (1, 1, 1)
    plain = parse_module(TEXT.format(op=f"%z: i32 = {op}"))
    assert not run_on("interp", plain, one, one, [a.copy() for a in arrays]).raised
    marked = parse_module(TEXT.format(op=f"%z: i32 = {op} [inside=true]"))
    with pytest.raises(KernelError, match="outside the domain"):
        run_on("interp", marked, one, one, arrays)


@pytest.mark.parametrize("number", (2.0**31, -(2.0**31) - 256, np.inf, np.nan))
def test_the_interpreter_checks_the_mark_of_casts(number: float) -> None:
    text = """
    kernel @k(%p: ptr<i32, global>, %x: f32) {{
      %z: i32 = cast %x{mark}
      store %p, %z
    }}
    """
    launch = (1, 1, 1), (1, 1, 1), [np.zeros(1, np.int32)], [np.float32(number)]
    assert not run_on("interp", parse_module(text.format(mark="")), *launch).raised
    with pytest.raises(KernelError, match="outside the domain"):
        run_on("interp", parse_module(text.format(mark=" [inside=true]")), *launch)


CONSTANT = (
    *(("div", 0), ("div", -1), ("div", 7), ("rem", 0), ("rem", -1), ("rem", 7)),
    *(("shl", 31), ("shl", 32), ("shr", 31), ("shr", -1)),
)


@pytest.mark.parametrize(("name", "number"), CONSTANT)
def test_a_known_operand_needs_no_guard(name: str, number: int) -> None:
    text = TEXT.format(op=f"%c: i32 = const {number}\n  %z: i32 = {name} %x, %c")
    for table in TABLES.values():
        module = parse_module(text)
        guards.guard_operands(module, table)
        if name in ("div", "rem") or 0 <= number < 32:
            assert not any(isinstance(op, arith.Compare | arith.Select) for op in ops_of(module))
        for value in (-(2**31), -1, 0, 1, 2**31 - 1):
            arrays = [np.array([value], np.int32), np.zeros(1, np.int32)]
            launch = (1, 1, 1), (1, 1, 1)
            got = run_on("interp", copied(module), *launch, [a.copy() for a in arrays])
            wanted = run_on("interp", parse_module(text), *launch, arrays)
            assert np.array_equal(got.arrays[0], wanted.arrays[0])


FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", INTEGERS)
def test_casts_at_the_bounds(source: str, target: str) -> None:
    """The floats next to the bounds, infinities and NaN, by C's conversion of what is inside."""
    info, kind = np.iinfo(by_name(target).numpy), FLOATS[source]
    with np.errstate(over="ignore"):
        edges = np.array([info.min, -1, -0.5, -0.0, 0.5, 1.5, info.max, info.max + 1], kind)
    around = np.concatenate([edges, *(np.nextafter(edges, kind(n)) for n in (-np.inf, np.inf))])
    values = np.concatenate([around, np.array([np.inf, -np.inf, np.nan], kind)])
    whole = [0 if v != v else v if np.isinf(v) else int(v) for v in values.tolist()]
    wanted = [int(min(max(v, info.min), info.max)) for v in whole]
    text = f"""
    kernel @k(%p: ptr<{source}, global>, %q: ptr<{target}, global>) {{
      %t: i32 = thread_idx x
      %from: ptr<{source}, global> = offset %p, %t
      %to: ptr<{target}, global> = offset %q, %t
      %x: {source} = load %from
      %z: {target} = cast %x
      store %to, %z
    }}
    """
    module = parse_module(text)
    guards.guard_operands(module, guards.SHADERS)
    assert any(isinstance(op, arith.Cast) and op.inside for op in ops_of(module))
    arrays = [values, np.zeros(len(values), info.dtype)]
    got = run_on("interp", module, (1, 1, 1), (len(values), 1, 1), arrays)
    assert not got.raised and got.arrays[1].tolist() == wanted


def test_a_masked_amount_needs_no_guard() -> None:
    text = "%c: i32 = const 31\n  %m: i32 = and %y, %c\n  %z: i32 = shl %x, %m"
    module = parse_module(TEXT.format(op=text))
    guards.guard_operands(module, guards.SHADERS)
    assert not any(isinstance(op, arith.Compare | arith.Select) for op in ops_of(module))


def test_a_uniform_divisor_of_a_remainder_has_a_uniform_guard() -> None:
    """The guard depends on the divisor alone, so lanes that share it share the guard."""
    module = parse_module(TEXT.format(op="%z: i32 = rem %x, %y"))
    guards.guard_operands(module, guards.VECTORS)
    (dividend,) = [op for op in ops_of(module) if isinstance(op, arith.Rem)]
    waiting, seen = [dividend.rhs], set()
    while waiting:
        value = waiting.pop()
        seen.add(value.name)
        waiting += value.op.operands() if value.op else []
    assert "x" not in seen


def test_every_code_generator_gets_guarded_ops() -> None:
    """All pipelines in front of emitters end with the guards, but for what is about scopes."""
    for record in backends():
        if record.codegen:
            names = [re.sub(r".*\.", "", each.path) for each in record.pipeline]
            assert set(names[names.index("guard_operands") + 1 :]) <= {"branch_out_of_scopes"}


SHADERS = ("vulkan", "metal", "opengl", "webgpu")
UNGUARDED = [
    *((name, f"{op} %x, %y") for name in ("cpu", "cuda") for op in ("div", "rem", "shl", "shr")),
    *((name, op) for name in SHADERS for op in ("div %x, %y", "shl %x, %y", "cast %f")),
]


@pytest.mark.parametrize(("target", "op"), UNGUARDED)
def test_ops_without_a_guard_are_refused(
    target: str, op: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = TEXT.replace("%q: ptr<i32, global>", "%q: ptr<i32, global>, %f: f32")
    module, record = parse_module(text.format(op=f"%z: i32 = {op}")), backend(target)
    assert generate(copied(module), Target(target, (32, 1, 1)), KernelOptions()).code
    rest = tuple(each for each in record.pipeline if "guard_operands" not in each.path)
    monkeypatch.setitem(known, target, record._replace(pipeline=rest))
    with pytest.raises(TargetError, match=f"{op.split()[0]} has no guard"):
        generate(module, Target(target, (32, 1, 1)), KernelOptions())
