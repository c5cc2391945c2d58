"""Errors of tile programs: the class, the message, the place."""

from __future__ import annotations

import pytest
from tests.frontends.triton.running import jit, module_of

import gridlane.frontends.triton.language as tl
from gridlane.core import argtypes
from gridlane.core.errors import CompileError
from gridlane.frontends.triton.errors import (
    CompilationError,
    CompileTimeAssertionFailure,
    UnsupportedLanguageConstruct,
)

FLOATS, INTS, INT = argtypes.float32[::1], argtypes.int32[::1], argtypes.int32
SETTING = 4


def raised(function, *types, kind=CompilationError, **constants) -> str:
    with pytest.raises(kind) as caught:
        module_of(function, *types, **constants)
    assert isinstance(caught.value, CompileError)
    return str(caught.value)


@jit
def reads_global(data):
    tl.store(data, SETTING)


@jit
def reads_nothing(data):
    tl.store(data, missing)  # noqa: F821


@jit
def shapes_at_run_time(data, count):
    tl.store(data + tl.arange(0, count), 0.0)


@jit
def three(data):
    tl.store(data + tl.zeros((3,), tl.int32), 0.0)


@jit
def does_not_broadcast(data):
    tl.store(data + tl.arange(0, 4)[:, None], tl.zeros((4, 8), tl.float32) + tl.arange(0, 16))


@jit
def other_without_mask(data):
    tl.store(data, tl.load(data, other=1.0))


@jit
def changes_type(data, count):
    total = 0
    for _ in range(count):
        total += 0.5
    tl.store(data, total)


@jit
def branches_differ(data, count):
    if count > 2:
        total = 1
    else:
        total = 1.0
    tl.store(data, total)


@jit
def defined_inside(data, count):
    for place in range(count):
        last = place
    tl.store(data, last)


@jit
def returns_in_loop(data, count):
    for place in range(count):
        if place > 2:
            return
    tl.store(data, 0.0)


@jit
def stores_an_item(data):
    tile = tl.zeros((4,), tl.float32)
    tile[0] = 1.0
    tl.store(data, tile)


@jit
def stores_a_float_there(data):
    tl.store(tl.arange(0, 4), 1.0)


@jit
def asserts(data, SIZE: tl.constexpr):
    tl.static_assert(SIZE > 8, f"SIZE is {SIZE}")


@jit
def half_power(x):
    return tl.exp(x)


@jit
def calls_half_power(data):
    tl.store(data, half_power(tl.load(data).to(tl.float16)))


@jit
def recurs(x):
    return recurs(x + 1)


@jit
def calls_recurs(data):
    tl.store(data, recurs(tl.load(data)))


@jit
def narrow_sum(data):
    x = tl.load(data).to(tl.float8e5)
    tl.store(data, x + x)


@jit
def breaks(data, count):
    for place in range(count):
        if place > 2:
            break


@jit
def drops_block(data):
    block = tl.make_block_ptr(data, (8,), (1,), (0,), (4,), (0,))
    tl.advance(block, (4,))


@jit
def branch_on_tile(data):
    if tl.arange(0, 4) > 2:
        tl.store(data, 0.0)


@jit
def loads_by_instructions(data):
    tl.inline_asm_elementwise(
        "ld.global.b32 $0, [$1];", "=r,l", [data + tl.arange(0, 4)], tl.int32, False, 1
    )


@jit
def reads_a_thread(data):
    x = tl.inline_asm_elementwise(
        "add.u32 $0, $1, %tid.x;", "=r,r", [tl.load(data)], tl.int32, True, 1
    )
    tl.store(data, x)


CASES = [
    (loads_by_instructions, (INTS,), "access no memory", "tl.inline_asm_elementwise("),
    (reads_a_thread, (INTS,), "no thread's registers", "tl.inline_asm_elementwise("),
    (reads_global, (INTS,), "Cannot access global variable SETTING", "SETTING)"),
    (reads_nothing, (INTS,), "missing is not defined", "missing)"),
    (shapes_at_run_time, (FLOATS, INT), "must be of type tl.constexpr", "tl.arange(0, count)"),
    (three, (FLOATS,), "Shape element 0 must be a power of 2", "tl.zeros((3,)"),
    (does_not_broadcast, (FLOATS,), "incompatible dimensions at index 1: 8 and 16", "tl.arange"),
    (other_without_mask, (FLOATS,), "`other` cannot be provided without `mask`", "tl.load"),
    (changes_type, (FLOATS, INT), "Loop-carried variable total has initial type int32", "for _"),
    (branches_differ, (FLOATS, INT), "Mismatched type for total", "if count > 2:"),
    (defined_inside, (INTS, INT), "last is not defined", "last)"),
    (returns_in_loop, (FLOATS, INT), "Cannot have `return` statements inside", "return"),
    (stores_an_item, (FLOATS,), "__setitem__ is not supported in triton", "tile[0] = 1.0"),
    (stores_a_float_there, (FLOATS,), "Unsupported ptr type", "tl.store"),
    (calls_half_power, (FLOATS,), "Expected dtype ['fp32', 'fp64'] but got fp16", "tl.exp(x)"),
    (calls_recurs, (INTS,), "recurs() calls itself", "recurs(x + 1)"),
    (narrow_sum, (FLOATS,), "addition of fp8e5 is not supported", "x + x"),
    (breaks, (FLOATS, INT), "unsupported AST node type: Break", "break"),
    (drops_block, (FLOATS,), "The result of tl.advance is not being used", "tl.advance"),
    (branch_on_tile, (FLOATS,), "more than one value is ambiguous", "if tl.arange"),
]


@pytest.mark.parametrize(
    ("function", "types", "message", "line"), CASES, ids=[case[0].fn.__name__ for case in CASES]
)
def test_error(function, types, message, line):
    text = raised(function, *types)
    assert message in text
    assert line in text
    assert "^" in text


def test_a_failed_assertion_has_its_message():
    text = raised(asserts, FLOATS, kind=CompileTimeAssertionFailure, SIZE=8)
    assert text.startswith("at 2:4:\n")
    assert text.endswith("\nSIZE is 8")


def test_constructs_have_a_class():
    assert "Break" in raised(breaks, FLOATS, INT, kind=UnsupportedLanguageConstruct)


def test_the_cause_is_the_functions_own_error():
    with pytest.raises(CompilationError) as caught:
        module_of(three, FLOATS)
    assert str(caught.value.__cause__) == "Shape element 0 must be a power of 2"


def test_an_error_in_a_callee_names_the_caller():
    text = raised(calls_half_power, FLOATS)
    assert text.index("in half_power") < text.index("called from") < text.index("calls_half_power")


def test_outside_of_a_program_functions_raise():
    with pytest.raises(ValueError, match=r"Did you forget to add @triton\.jit"):
        tl.arange(0, 4)


@jit
def writes_constant(data: tl.const, out):
    tl.store(data, tl.load(out))


def test_pointers_to_constant_memory_are_not_written():
    assert "Cannot store to a constant pointer" in raised(writes_constant, FLOATS, FLOATS)
