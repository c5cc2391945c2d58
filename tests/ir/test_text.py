"""What is printed parses back to the same IR; what is not IR is a ParseError that points at it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ir.random_ops import every_op, random_module

from gridlane.core.errors import ParseError
from gridlane.core.source import Loc
from gridlane.ir.op import REGISTRY, FieldKind, Op
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.values import Function, Module, Region, Value, Var

seeds = st.integers(0, 2**32 - 1)


def assert_equal(a: Module, b: Module) -> None:
    """The same structure, attributes and locations, whatever the names of values."""
    assert list(a.globals) == list(b.globals)
    for one, two in zip(a.globals.values(), b.globals.values(), strict=True):
        for name in ("name", "element", "count", "space", "align", "data"):
            assert getattr(one, name) == getattr(two, name)
    assert a.errors == b.errors
    assert list(a.functions) == list(b.functions)
    for one, two in zip(a.functions.values(), b.functions.values(), strict=True):
        assert_equal_functions(one, two)


def assert_equal_functions(a: Function, b: Function) -> None:
    assert (a.name, a.results, a.is_kernel, a.loc) == (b.name, b.results, b.is_kernel, b.loc)
    pairs: dict[Value | Var, Value | Var] = {}
    for one, two in zip(a.params, b.params, strict=True):
        pairs[one.value] = two.value
        assert one.value.type == two.value.type
        for name in ("argument", "path", "noalias", "readonly", "align"):
            assert getattr(one, name) == getattr(two, name)
    for one, two in zip(a.variables, b.variables, strict=True):
        pairs[one] = two
        assert one.type == two.type
    assert_equal_regions(a.body, b.body, pairs)


def assert_equal_regions(a: Region, b: Region, pairs: dict) -> None:
    for one, two in zip(a.ops, b.ops, strict=True):
        assert type(one) is type(two)
        assert one.loc == two.loc
        for name, kind, _ in one.LAYOUT:
            assert_equal_fields(getattr(one, name), getattr(two, name), kind, pairs)
        assert [v.type for v in one.results] == [v.type for v in two.results]
        pairs |= dict(zip(one.results, two.results, strict=True))


def assert_equal_fields(x, y, kind: FieldKind, pairs: dict) -> None:
    if kind is FieldKind.REGION:
        assert_equal_regions(x, y, pairs)
    elif kind in (FieldKind.OPERAND, FieldKind.VARIABLE):
        assert pairs[x] is y
    elif kind is FieldKind.OPERANDS:
        assert [pairs[value] for value in x] == list(y)
    else:
        # repr: -0.0 is not 0.0, True is not 1, NaN is NaN
        assert repr(x) == repr(y)


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_every_op_reads_back(seed):
    module = random_module(seed, every_op())
    text = print_module(module, locations=True)
    parsed = parse_module(text)
    assert_equal(module, parsed)
    assert print_module(parsed, locations=True) == text


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_text_without_locations_reads_back(seed):
    text = print_module(random_module(seed, every_op()))
    assert " loc(" not in text
    assert print_module(parse_module(text)) == text


@pytest.mark.parametrize("cls", REGISTRY.values(), ids=REGISTRY)
def test_each_op_reads_back(cls: type[Op]):
    for seed in range(5):
        module = random_module(seed, [cls] * 3)
        text = print_module(module, locations=True)
        assert_equal(module, parse_module(text))


def test_depth_has_no_limit():
    depth = 5000
    text = "kernel @k(%c: b1) {\n" + "if %c {\n" * depth + "}\n" * depth + "}\n"
    module = parse_module(text)
    assert print_module(parse_module(print_module(module))) == print_module(module)
    assert sum(1 for _ in module.kernel.body.walk()) == depth


def test_locations_chain():
    loc = Loc("a.py", 3, 4, 9, "f", Loc("b.py", 7, 1, 0, "g"))
    text = 'kernel @k() loc("a.py", 3, 4, 9, "f") from loc("b.py", 7, 1, 0, "g") {\n}\n'
    module = parse_module(text)
    assert module.kernel.loc == loc
    assert print_module(module, locations=True) == text


def test_comments_and_layout_do_not_matter():
    module = parse_module(
        "// a comment\nkernel @k(%n:i32){%0:i32=add %n,%n // doubled\n%1 : i32 = add %0, %0}"
    )
    assert print_module(module) == (
        "kernel @k(%n: i32) {\n  %0: i32 = add %n, %n\n  %1: i32 = add %0, %0\n}\n"
    )


def test_error_points_at_the_place():
    with pytest.raises(ParseError) as caught:
        parse_module("kernel @k(%n: i32) {\n  %0: i32 = add %n, %m\n}")
    assert (caught.value.line, caught.value.column) == (2, 21)
    assert str(caught.value) == (
        "line 2, column 21: no value %m is visible here\n"
        "    2 |   %0: i32 = add %n, %m\n"
        "      |                     ^"
    )


def body(*lines: str) -> str:
    return "kernel @k(%n: i32, %p: ptr<f32, global>) {\nvar $x: f32\n" + "\n".join(lines) + "\n}"


MALFORMED = [
    ("cluster (2, 1)", "a cluster has blocks along three axes"),
    ("cluster (2, 0, 1)", "a cluster has blocks along three axes"),
    ("frog", "expected one of global, error, cluster, tensor_map, kernel, device"),
    ("kernel @k(", "expected a value"),
    ("kernel @k() {", "expected an op"),
    ("kernel @k() {} kernel @k() {}", "a second function @k"),
    ("global @g: f32 * 4", "needs its space"),
    ("global @g: f32 * 4 [space=shared] global @g: f32 * 4 [space=shared]", "second global"),
    ('global @g: f32 * 1 [space=constant, data="0x"]', "hexadecimal"),
    ("global @g: f32 * 4 [space=shared, space=shared]", "not one of"),
    ('error 1 "ValueError" ""', "numbered in order"),
    ('error 0 "Value', "unexpected character"),
    ('error 0 "\\q" ""', "malformed string"),
    ("kernel @k(%a: i32, %a: i32) {}", "a second value %a"),
    ("kernel @k() { var $x: i32 var $x: i32 }", r"a second variable \$x"),
    (body("%0: i32 = frob %n"), "no op is called 'frob'"),
    (body("%0: i32 = add %n, %q"), "no value %q"),
    (body("%0: f32 = add %n, %n"), "add gives i32, not f32"),
    (body("add %n, %n"), "add gives i32, not"),
    (body("%0: i32, %1: i32 = const 3"), "const has one result"),
    (body("%0: i32 = load %n"), "is not a pointer"),
    (body("%0: f32 = read $y"), r"no variable \$y"),
    (body("%0: i32 = thread_idx w"), "'w' is not one of x, y, z"),
    (body("%0: i32 = add %n, %n [fast=slow]"), "'slow' is not one of"),
    (body("%0: i32 = add %n, %n [colour=red]"), "attribute 'colour'"),
    (body("%0: i32 = add %n"), "expected ','"),
    (body("%0: i32 = const 1.5"), "unexpected character"),
    (body("%0: f64 = const 0x1p99999999"), "is not a float"),
    (body("%0: i64 = const " + "9" * 5000), "more than 100 digits"),
    (body("if %n { } step { }"), "no op is called 'step'"),
    (body("loop { %0: i32 = add %n, %n } step { %1: i32 = add %0, %0 }"), "no value %0"),
    (body("store %p, %n ; stop"), "unexpected character ';'"),
    (body("%0: f32 = part %n, 0"), "no part 0"),
    (body("return (%n"), "expected ','"),
    (body("fence block"), None),
]


@pytest.mark.parametrize(("text", "message"), MALFORMED)
def test_malformed_text(text, message):
    if message is None:
        parse_module(text)
        return
    with pytest.raises(ParseError, match=message) as caught:
        parse_module(text)
    assert caught.value.line >= 1


@given(seeds, st.data())
@settings(max_examples=150, deadline=None)
def test_damaged_text_is_a_parse_error_or_ir(seed, data):
    """Cut, repeated and replaced pieces never raise anything else, and never hang."""
    text = print_module(random_module(seed, random.Random(seed).sample(every_op(), 12)), True)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        piece = data.draw(
            st.sampled_from(["", "}", "{", "%0", "(", "\x00", '"', "<", "[", "9" * 50])
        )
        text = text[:start] + piece + text[end:]
    try:
        parse_module(text)
    except ParseError:
        pass


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_parse_error_or_ir(text):
    try:
        parse_module(text)
    except ParseError:
        pass


@pytest.mark.parametrize(
    "text",
    [
        "{" * 100_000,
        "kernel @k() {" + "loop {" * 50_000,
        "kernel @k(%a: " + "ptr<" * 50_000,
        "kernel @k() " + 'loc("", 0, 0, 0, "") from ' * 20_000,
        '"' * 100_000,
        "global @g: f32 * " + "9" * 100_000,
        "kernel @k() {" + "%0: i32 = const 1 " * 10_000,
        " " * 1_000_000,
        "//" * 500_000,
    ],
)
def test_large_hostile_text_ends_soon(text):
    try:
        parse_module(text)
    except ParseError:
        pass
