"""Types: layout, equality, text."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridlane.core.dtypes import ALL, INTEGERS, b1, f32, f64, i8, u8
from gridlane.core.errors import ParseError
from gridlane.ir.lexer import Tokens
from gridlane.ir.typeparser import parse_type
from gridlane.ir.types import (
    ArrayType,
    FragmentType,
    Role,
    Space,
    StructType,
    pointer,
    struct,
    vector,
)

names = st.text(max_size=6)


def types():
    """Random types, nested."""
    scalars, extents = st.sampled_from(ALL), st.integers(0, 256)

    def deeper(inner):
        fields = st.lists(st.tuples(names, inner, st.integers(0, 99)), max_size=3)
        return st.one_of(
            st.builds(pointer, inner, st.sampled_from(Space)),
            st.builds(vector, scalars, st.integers(2, 16)),
            st.builds(ArrayType, inner, st.integers(0, 2**40)),
            st.builds(
                FragmentType,
                st.sampled_from(Role),
                extents,
                extents,
                scalars,
            ),
            st.builds(
                lambda name, items, size: StructType(
                    name,
                    tuple(item[0] for item in items),
                    tuple(item[1] for item in items),
                    tuple(item[2] for item in items),
                    size,
                    4,
                ),
                names,
                fields,
                st.integers(0, 1000),
            ),
        )

    return st.recursive(scalars, deeper, max_leaves=8)


@given(types())
def test_types_read_back(type_):
    tokens = Tokens(str(type_))
    assert parse_type(tokens) == type_
    assert tokens.current.kind == "end"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f33", "'f33' is not a type"),
        ("ptr<f32, moon>", "'moon' is not one of generic, global, shared, constant, local"),
        ("vec<f32, 1>", "2 to 16"),
        ("vec<ptr<f32, global>, 2>", "its elements are scalars"),
        ("array<f32, -1>", "out of range"),
        ("struct<s, {a: f32 @x}, 4, 4>", "offset"),
        ("struct<s, {a: f32 @0}, 4, 3>", "power of two"),
        ("ptr<" * 500, "nest more than"),
        ("ptr<f32", "expected ','"),
        ("frag<d, 16, 16, f16>", "'d' is not one of a, b, acc"),
        ("frag<a, 16, 16, ptr<f32, global>>", "a fragment of ptr.*: its elements are scalars"),
    ],
)
def test_malformed_types(text, message):
    with pytest.raises(ParseError, match=message):
        parse_type(Tokens(text))


def test_struct_is_laid_out_as_in_c():
    made = struct("s", {"a": i8, "b": f64, "c": i8, "d": f32})
    assert (made.offsets, made.size, made.align) == ((0, 8, 16, 20), 24, 8)


@pytest.mark.parametrize(
    ("element", "count", "align"),
    [(f32, 2, 8), (f32, 3, 4), (f32, 4, 16), (f64, 2, 16), (f64, 4, 16), (u8, 3, 1)],
)
def test_vectors_align_as_in_cuda(element, count, align):
    made = vector(element, count)
    assert made.align == align
    assert made.size % made.align == 0


def test_pointer_types_are_shared():
    assert pointer(f32) is pointer(f32)
    assert pointer(f32) != pointer(f32, Space.SHARED)


def test_scalars_survive_pickling():
    for dtype in ALL:
        assert pickle.loads(pickle.dumps(dtype)) is dtype


@given(st.sampled_from(INTEGERS), st.integers())
def test_wrap_is_two_s_complement(dtype, value):
    wrapped = dtype.wrap(value)
    assert dtype.min <= wrapped <= dtype.max
    assert (wrapped - value) % (1 << dtype.bits) == 0


def test_b1_takes_a_byte():
    assert (b1.size, b1.bits) == (1, 1)
