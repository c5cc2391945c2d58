"""The classes of messages and states on the host."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridlane import actors
from gridlane.core.errors import TypingError
from gridlane.cuda import boolean, float16, float32, float64, int8, int32, int64, uint8, uint64


@actors.message
class Flat:
    a: int8
    b: float64
    c: boolean
    d: float16
    e: uint64 = 7


@actors.message
class Inner:
    x: float32
    y: int32


@actors.message
class Nested:
    head: Inner
    rows: int32[2, 3]
    tail: uint8


def shape(cls):
    return cls.__gridlane_shape__


@given(
    st.integers(-128, 127),
    st.floats(),
    st.booleans(),
    st.floats(width=16),
    st.integers(0, 2**64 - 1),
)
def test_bytes_are_numpys(a, b, c, d, e):
    value = Flat(a, b, c, d, e)
    record = np.zeros((), shape(Flat).record.numpy)
    for name in record.dtype.names:
        record[name] = getattr(value, name)
    assert bytes(value) == record.tobytes()
    assert shape(Flat).unpack(bytes(value)) == value


def test_nested_values():
    value = Nested(Inner(1.5, 2), [[1, 2, 3], [4, 5, 6]], 9)
    found = shape(Nested).unpack(bytes(value))
    assert found == value
    assert (found.head.x, found.head.y, found.tail) == (1.5, 2, 9)
    assert found.rows.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert found != Nested(Inner(1.5, 3), [[1, 2, 3], [4, 5, 6]], 9)


@actors.message
class Deep:
    rows: actors.array(Nested, 2)
    points: actors.array(Inner, 2, 3)


def test_elements_of_arrays_of_classes_have_attributes():
    points = np.zeros((2, 3), shape(Inner).record.numpy)
    points["x"], points["y"] = 1.5, [[1, 2, 3], [4, 5, 6]]
    rows = np.zeros(2, shape(Nested).record.numpy)
    rows["tail"], rows["head"]["y"] = (7, 9), (3, 4)
    value = Deep(rows, points)
    found = shape(Deep).unpack(bytes(value))
    assert found == value
    assert (found.points[1, 2].x, found.points[1, 2].y, found.points[1, 2]["y"]) == (1.5, 6, 6)
    assert found.points.y.tolist() == found.points["y"].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert (found.rows[1].tail, found.rows[1].head.y) == (9, 4)
    assert bytes(Deep(found.rows, found.points)) == bytes(value)


def test_defaults_and_text():
    assert repr(Flat(1, 2.0, True, 0.5)) == "Flat(a=1, b=2.0, c=True, d=0.5, e=7)"
    assert Inner(1, 2) != Flat(1, 2.0, True, 0.5)
    with pytest.raises(TypeError):
        hash(Inner(1, 2))


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (Flat(300, 0.0, True, 0.0), r"Flat.a is a int8, which 300 does not fit"),
        (Flat(1.5, 0.0, True, 0.0), r"Flat.a is a int8, which 1.5 does not fit"),
        (Flat(1, "x", True, 0.0), r"Flat.b is a float64, which 'x'"),
        (Nested(Inner(1, 2), [1, 2], 3), "Nested.rows"),
        (Nested(3, 0, 300), "Nested.tail"),
    ],
)
def test_values_that_do_not_fit(value, says):
    with pytest.raises(TypeError, match=says):
        bytes(value)


@actors.message
class Halves:
    values: float16[2]
    flags: actors.array(boolean, 2)


@actors.message
class Same:
    """The fields of Inner."""

    x: float32
    y: int32


ROWS = [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (Nested(Same(1, 2), ROWS, 3), r"Nested\.head is a Inner, which Same\(x=1, y=2\) does not"),
        (Nested(5, ROWS, 3), r"Nested\.head is a Inner, which 5"),
        (Nested((1,), ROWS, 3), r"Nested\.head is a Inner, which \(1,\)"),
        (Nested((1, 2**40), ROWS, 3), r"Nested\.head\.y is a int32, which 1099511627776"),
        (Nested(np.void(b"12345678"), ROWS, 3), r"Nested\.head is a Inner"),
        (Nested(Inner(1, 2), ROWS, "3"), r"Nested\.tail is a uint8, which '3'"),
        (Nested(Inner(1, 2), ROWS, np.int64(-1)), r"Nested\.tail is a uint8, which .*-1"),
        (Nested(Inner(1, 2), ROWS, 2.5), r"Nested\.tail is a uint8, which 2\.5"),
        (Nested(Inner(1, 2), np.array(ROWS) << 40, 3), r"Nested\.rows is a int32.*1099511627776"),
        (Nested(Inner(1, 2), [[1, 2, 3], [4, 5, 6.5]], 3), r"Nested\.rows .* which 6\.5"),
        (Nested(Inner(1, 2), [[1, 2, 3], [4, 5, 10**30]], 3), r"Nested\.rows"),
        (Nested(Inner(1, 2), [["1", "2", "3"]] * 2, 3), r"Nested\.rows .* array of <U1"),
        (Nested(Inner(1, 2), [1, 2, 3], 3), r"Nested\.rows .* array of int64, \(3,\)"),
        (Nested(Inner(1, 2), [[1], [2, 3]], 3), r"Nested\.rows"),
        (Nested(Inner(1, 2), None, 3), r"Nested\.rows"),
        (Halves([1e6, 0], [0, 1]), r"Halves\.values .* which 1000000\.0"),
        (Halves([1, 0], ["", "x"]), r"Halves\.flags"),
        (Deep([1, 2], [[(1, 2)] * 3] * 2), r"Deep\.rows is a Nested, which 1"),
        (Deep([(Inner(1, 2), ROWS, 3)] * 2, [[(1, 2)] * 3]), r"Deep\.points"),
        (Deep([(Inner(1, 2), ROWS, 3)] * 2, np.zeros((2, 3))), r"(?s)Deep\.points .* of float64"),
    ],
)
def test_parts_that_do_not_fit(value, says):
    """Nothing is cut, wrapped, read from text, repeated or taken for another class."""
    with pytest.raises(TypeError, match=says):
        bytes(value)


def test_parts_of_other_types_that_fit():
    head = Inner(1.5, 2)
    rows = np.zeros((), shape(Nested).record.numpy)
    rows["head"], rows["rows"], rows["tail"] = (1.5, 2), ROWS, 9
    wanted = Nested(head, np.array(ROWS, "i4"), 9)
    for each in (
        Nested((1.5, 2), ROWS, np.uint8(9)),
        Nested(rows["head"], tuple(map(tuple, ROWS)), np.array(9)),
        Nested(shape(Inner).unpack(bytes(head)), np.asfortranarray(ROWS), 9),
        Nested(head, np.array(ROWS, "f8"), True + 8),
        Nested(head, np.array(ROWS, object), 9),
        Nested(head, np.array(ROWS, ">i8"), 9),
        shape(Nested).unpack(rows.tobytes()),
    ):
        assert bytes(each) == bytes(wanted) == rows.tobytes()
    assert bytes(Nested(head, 7, 9)) == bytes(Nested(head, [[7] * 3] * 2, 9))
    deep = Deep([wanted, (head, ROWS, 9)], [[head] * 3, [(1.5, 2)] * 3])
    assert bytes(deep)[: 2 * rows.itemsize] == 2 * rows.tobytes()
    assert bytes(deep)[2 * rows.itemsize :] == 6 * bytes(head)
    halves = Halves([np.inf, -0.0], [2, 0.0])
    assert bytes(halves) == np.array([np.inf, -0.0], "f2").tobytes() + b"\1\0"


def test_padding_of_records_does_not_tell_values_apart():
    record = np.frombuffer(bytearray(b"\xff" * 36), shape(Nested).record.numpy)[0]
    record["head"], record["rows"], record["tail"] = (1, 2), ROWS, 3
    clean = Nested(Inner(1, 2), ROWS, 3)
    points = [[Inner(1, 2)] * 3] * 2
    assert record.tobytes() != bytes(clean)
    assert bytes(Deep([record, record], points)) == bytes(Deep([clean, clean], points))


def test_numbers_tell_classes_apart():
    @actors.message
    class Other:
        x: float32
        y: int32

    assert shape(Other).number != shape(Inner).number
    assert shape(Other).record != shape(Inner).record


def test_messages_larger_than_the_largest_tier_are_refused():
    with pytest.raises(TypingError, match=r"Large has 16392 bytes.*16384") as caught:

        @actors.message
        class Large:
            data: int64[2049]

    assert "class Large" in str(caught.value)

    @actors.state
    class Fine:
        data: int64[2049]

    assert shape(Fine).layout.size == 16392
