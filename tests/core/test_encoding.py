"""The encoding that keys are made of: one value, one text of bytes; and back."""

from __future__ import annotations

import math
from collections import namedtuple
from dataclasses import fields, is_dataclass, replace
from enum import Enum, IntEnum
from itertools import combinations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridlane.core import argtypes, dtypes
from gridlane.core.argtypes import (
    SCALARS,
    ArrayType,
    CharsType,
    CPointerType,
    EnumType,
    NestedArrayType,
    NoneType,
    OptionalType,
    Signature,
    TimeType,
    TupleType,
    VectorType,
    complex64,
    complex128,
    float32,
    int32,
    none,
)
from gridlane.core.compact import Variant
from gridlane.core.dtypes import DType
from gridlane.core.encoding import RECORDS, NotEncodable, decode, encode
from gridlane.core.exports import Export
from gridlane.core.features import features
from gridlane.core.numpy_types import from_numpy
from gridlane.core.options import KernelOptions, Target
from gridlane.core.source import Loc

Point = namedtuple("Point", "x y")
Swapped = namedtuple("Swapped", "y x")
Color = Enum("Color", {"RED": 1, "BLUE": 2.5})
Shade = IntEnum("Shade", "RED BLUE")

RECORD = from_numpy(np.dtype([("a", "i4"), ("b", "f8", (2, 3)), ("c", [("d", "u1")])]))
PAIR = TupleType((int32, float32), Point._fields, Point)
EXAMPLES = {
    "ScalarType": (int32, float32),
    "ComplexType": (complex64, complex128),
    "RecordType": (RECORD, replace(from_numpy(np.dtype([("a", "i4")])), label="A", number=1)),
    "NestedArrayType": (NestedArrayType(int32, (2, 3)), NestedArrayType(float32, (6,))),
    "TimeType": (TimeType("D", 1, False), TimeType("s", 25, True)),
    "CharsType": (CharsType(12, False), CharsType(5, True)),
    "VectorType": (VectorType(int32, 2), VectorType(float32, 6, (2, 3))),
    "ArrayType": (int32[:, ::1], ArrayType(float32, 1, "F", readonly=True)),
    "TupleType": (PAIR, TupleType((int32,), Swapped._fields, Swapped)),
    "EnumType": (EnumType.of(Color), EnumType.of(Shade)),
    "OptionalType": (OptionalType(int32), OptionalType(PAIR)),
    "CPointerType": (CPointerType(int32), CPointerType(None)),
    "NoneType": (none, NoneType("void")),
    "Signature": (none(int32), int32(float32, PAIR)),
    "Export": (Export("f", "c", dtypes.i32, 4, 4), Export("g", "numba", None, 8, 8)),
    "Loc": (Loc("a", 1), Loc("b", 2, 3, 4, "f", Loc("c", 5))),
    "KernelOptions": (
        KernelOptions(),
        KernelOptions(
            *(True, False, True, False, True, 32, (128, 2), "exact", "float32", 4096),
            chip="sm_90",
            finite=False,
            integral=True,
            runtime_shared=True,
            apart=True,
            check=True,
            own_functions=True,
        ),
    ),
    "Target": (
        Target("cpu"),
        Target("cuda", (8, 4, 1), "sm_90", "+f", "r580", Variant(True), features("fma es")),
    ),
    "Variant": (Variant(), Variant(True, True, (0, 1))),
}
"""Two values of each class that differ in every field."""


def field_names(cls):
    return [field.name for field in fields(cls)] if is_dataclass(cls) else list(cls._fields)


def changed(value, name, new):
    return replace(value, **{name: new}) if is_dataclass(value) else value._replace(**{name: new})


def test_there_is_an_example_of_every_class():
    assert EXAMPLES.keys() == RECORDS.keys()
    mine = {cls for cls in vars(argtypes).values() if isinstance(cls, type)}
    types = {cls for cls in mine if issubclass(cls, argtypes.ArgType)} - {argtypes.ArgType}
    assert {*types, Signature} <= {*RECORDS.values()}


@pytest.mark.parametrize("name", RECORDS)
def test_every_field_is_in_the_encoding(name):
    """A field that is added later is found here: the examples must differ in it."""
    cls, (one, other) = RECORDS[name], EXAMPLES[name]
    for field in field_names(cls):
        here, there = getattr(one, field), getattr(other, field)
        assert here != there, f"the examples of {name} must differ in {field}"
        mixed = changed(one, field, there)
        assert encode(mixed) not in (encode(one), encode(other)) or len(field_names(cls)) == 1
        assert encode(mixed) != encode(one)
        assert decode(encode(mixed)) == mixed
    assert decode(encode(one)) == one


DTYPES = [
    *("?", "i1", "u1", "<i2", ">i2", "<i4", ">i4", "u4", "<i8", "<u8", "<f2", "<f4", ">f4", "<f8"),
    *("c8", "c16", "S3", "S4", "U3", "V2", "M8[ns]", "M8[s]", "m8[ns]", "O"),
    *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4),
    ("<f4", (2,)),
    ("<f4", (1, 2)),
    (("<f4", (2,)), (1,)),
    [("a", "<i4")],
    [("b", "<i4")],
    [("a", "<i4", (1,))],
    [(("title", "a"), "<i4")],
    [(("other", "a"), "<i4")],
    [("a", "<i4"), ("b", "<i4")],
    [("b", "<i4"), ("a", "<i4")],
    [("a", [("b", "<i4")])],
    {"names": ["a"], "formats": ["<i4"], "itemsize": 8},
    {"names": ["a"], "formats": ["<i4"], "offsets": [4]},
    {"names": ["a", "b"], "formats": ["<i4", "<i4"], "offsets": [4, 0]},
    {"names": ["a", "b"], "formats": ["<i4", "<i4"], "offsets": [0, 0]},
]


def test_dtypes_are_told_apart():
    made = [np.dtype(spec) for spec in DTYPES]
    made.append(np.dtype({"names": ["a"], "formats": ["<i4"]}, align=True))
    made.append(np.dtype((np.record, [("a", "<i4")])))
    made.append(np.dtype((np.record, [("a", [("b", "<i4")])])))
    texts = [encode(dtype) for dtype in made]
    assert len(set(texts)) == len(texts)
    for dtype, text in zip(made, texts):
        again = decode(text)
        assert again == dtype and again.type is dtype.type and encode(again) == text
    assert decode(encode(np.dtype(("<f4", (2,))))).subdtype == (np.dtype("<f4"), (2,))


PLAIN = [
    *(None, ..., False, True, 0, 1, -1, 2**70, -(2**70), 0.0, -0.0, 1.0, math.inf, math.nan),
    *(np.frombuffer(b"\1\0\0\0\0\0\xf8\x7f", "<f8")[0].item(), 0j, complex(-0.0, 0), 1 + 0j),
    *("", "1", "True", "\0", "a\0b", "\ud800", "ü", b"", b"1", (), ((),), (1,), (True,), ("1",)),
    *((1, 2), ((1,), 2), (1, (2,)), ((1, 2),), ("ab", "c"), ("a", "bc"), ("", "abc")),
    *(dtypes.i32, dtypes.f32, int32, float32, int, float, np.float32, np.int32, Point, Swapped),
]


def test_plain_values_are_told_apart():
    texts = [encode(value) for value in PLAIN]
    assert len(set(texts)) == len(PLAIN)
    for value, text in zip(PLAIN, texts):
        again = decode(text)
        assert encode(again) == text and type(again) is type(value)


def test_the_defects_that_were():
    """What ``repr`` says the same of."""
    wide = np.dtype({"names": ["a", "b"], "formats": ["i4", "i4"], "itemsize": 16})
    other = namedtuple("P", "y x")
    pairs = [
        (from_numpy(np.dtype([("a", "i4"), ("b", "i4")])), from_numpy(wide)),
        (int32[::1], ArrayType(int32, 1, "C", readonly=True)),
        (TupleType((int32, int32)), TupleType((int32, int32), ("x", "y"))),
        (PAIR, replace(PAIR, cls=other, fields=other._fields)),
        (PAIR, replace(PAIR, cls=Swapped)),
    ]
    for one, two in pairs:
        assert encode(one) != encode(two) and encode((one,)) != encode((two,))


# --- properties ---

names = st.text(max_size=6)
scalar_types = st.sampled_from([*SCALARS, complex64, complex128])
simple_dtypes = st.sampled_from([np.dtype(d) for d in ("i1", "<i4", "<f8", "?", "c8")])
record_dtypes = st.dictionaries(
    st.text("abc", min_size=1, max_size=2),
    st.tuples(simple_dtypes, st.sampled_from([(), (2,), (1, 3)])),
    min_size=1,
    max_size=3,
).flatmap(
    lambda items: st.builds(
        lambda gap, tail: _record_dtype(items, gap, tail), st.integers(0, 4), st.integers(0, 4)
    )
)


def _record_dtype(items, gap, tail):
    offsets, end = [], 0
    formats = [np.dtype((base, shape)) if shape else base for base, shape in items.values()]
    for each in formats:
        offsets.append(end)
        end += each.itemsize + gap
    return np.dtype(
        {"names": [*items], "formats": formats, "offsets": offsets, "itemsize": end + tail}
    )


elements = scalar_types | record_dtypes.map(from_numpy)
types = st.recursive(
    elements
    | st.just(none)
    | st.builds(ArrayType, elements, st.integers(0, 3), st.sampled_from("CFA"), st.booleans()),
    lambda inner: st.builds(
        TupleType,
        st.lists(inner, max_size=3).map(tuple),
        st.sampled_from([(), ("x", "y"), ("y", "x")]),
        st.sampled_from([None, Point, Swapped]),
    ),
    max_leaves=5,
)
options = st.builds(
    KernelOptions,
    *[st.booleans()] * 5,
    st.none() | st.integers(1, 256),
    st.lists(st.integers(1, 1024), max_size=2).map(tuple),
    st.sampled_from(["emulate", "exact"]),
    st.sampled_from(["float64", "float32"]),
)
targets = st.builds(
    Target,
    names,
    st.none() | st.tuples(*[st.integers(1, 9)] * 3),
    names,
    names,
    names,
    st.builds(Variant, st.booleans(), st.booleans(), st.lists(st.integers(0, 3)).map(tuple)),
)
values = st.lists(types | options | targets | names, max_size=3).map(tuple)


@given(values, values)
def test_equal_bytes_mean_equal_values(one, other):
    assert (encode(one) == encode(other)) == (one == other)
    assert decode(encode(one)) == one


@given(types, st.data())
def test_one_other_field_gives_other_bytes(value, data):
    """Also where it lies deep inside, and the two look alike."""
    near = data.draw(types)
    for wrap in (lambda x: (x, int32), lambda x: (int32, x), lambda x: TupleType((x,))):
        assert (encode(wrap(value)) == encode(wrap(near))) == (value == near)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_a_value_error(data):
    try:
        value = decode(data)
    except ValueError:
        return
    assert encode(value) == data


def test_damaged_bytes_are_a_value_error():
    whole = bytearray(encode((*[one for one, _ in EXAMPLES.values()], np.dtype("<f4"), 1.5)))
    for length in range(0, len(whole), 7):
        with pytest.raises(ValueError):
            decode(bytes(whole[:length]))
    for n in range(0, len(whole), 3):
        whole[n] ^= 0x10
        try:
            assert encode(decode(bytes(whole))) == bytes(whole)
        except ValueError:
            pass
        whole[n] ^= 0x10


class Loose:
    pass


class Number(int):
    pass


@pytest.mark.parametrize(
    "value", [Loose(), [1], {1: 2}, {1}, Number(3), np.float32(1), Point(1, 2), (Loose(),), len]
)
def test_what_has_no_encoding_is_refused(value):
    with pytest.raises(NotEncodable):
        encode(value)


def test_all_pairs_of_scalar_types():
    for one, other in combinations([*SCALARS, complex64, complex128], 2):
        assert encode(one) != encode(other)
    assert len({encode(d) for d in dtypes.ALL}) == len(dtypes.ALL)
    assert all(isinstance(d, DType) and decode(encode(d)) is d for d in dtypes.ALL)
