"""Records as values in kernels, against numpy."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.frontends.running import cuda, device, launch, module_of, returned

from gridlane.core import numpy_types
from gridlane.core.errors import TypingError, UnsupportedError
from gridlane.frontends.python.fingerprint import fingerprint

POINT = np.dtype([("x", np.float32), ("y", np.float32)])
ORDER = np.dtype([("price", np.float32), ("size", np.int32)], align=True)
LINE = np.dtype(
    [
        ("start", POINT),
        ("end", POINT),
        ("tag", np.int8),
        ("grid", np.float64, (2, 3)),
        ("charge", np.complex64),
    ]
)


class Order:
    """A class that stands for a record, as decorators of other packages make them."""

    __gridlane_type__ = numpy_types.from_numpy(ORDER)


class Derived(Order):
    """Stands for nothing of its own."""


def test_constructors():
    def kernel(out, price):
        out[0] = ORDER(price, 5)
        out[1] = ORDER(size=6, price=price * 2)
        out[2] = Order(price, size=7)
        out[3] = (price, 8)
        out[4] = ORDER(1, 2.9)  # converts as a store does

    out = np.zeros(5, ORDER)
    launch(kernel, 1, 1, out, np.float32(1.5))
    assert out.tolist() == [(1.5, 5), (3.0, 6), (1.5, 7), (1.5, 8), (1.0, 2)]


def test_nested_records_and_array_fields():
    def kernel(out, grid):
        start = POINT(1, 2)
        local = cuda.local.array((2, 3), np.float64)
        for i in range(2):
            for j in range(3):
                local[i, j] = grid[i, j] * 10
        out[0] = LINE(start, (3, 4), 5, local, 1 + 2j)
        out[1] = LINE(out[0].end, start, 6, ((1, 2, 3), (4, 5, 6)), out[0].charge)
        out[2] = LINE(start=start, end=start, tag=7, grid=0, charge=0)
        out[3] = (start, out[1].start, 8, local[0], 2)

    out, grid = np.zeros(4, LINE), np.arange(6.0).reshape(2, 3)
    launch(kernel, 1, 1, out, grid)
    expected = np.zeros(4, LINE)
    expected[0] = ((1, 2), (3, 4), 5, grid * 10, 1 + 2j)
    expected[1] = ((3, 4), (1, 2), 6, ((1, 2, 3), (4, 5, 6)), 1 + 2j)
    expected[2] = ((1, 2), (1, 2), 7, 0, 0)
    expected[3] = ((1, 2), (3, 4), 8, grid[0] * 10, 2)
    assert out.tobytes() == expected.tobytes()


def test_fields_of_a_value():
    def kernel(out, i):
        line = LINE((1, 2), POINT(3, 4), 5, ((1, 2, 3), (4, 5, 6)), 7 + 8j)
        out[0] = line.start.x + line["end"].y + line[2]
        out[1] = line.grid[i][2] + line.grid[1][i]
        out[2] = line.charge.imag + len(line.grid)

    assert returned(kernel, 1, count=3).tolist() == [10, 11, 10]


@device
def _shifted(point, by):
    return POINT(point.x + by, point.y - by)


@device
def _copied(orders, i):
    return orders[i].copy()


def test_arguments_and_results_of_device_functions():
    def kernel(out, orders):
        moved = _shifted(_shifted(POINT(1, 2), 10), 5)
        kept = _copied(orders, 1)
        orders[1].size = 99
        out[0] = moved.x
        out[1] = moved.y
        out[2] = kept.size + orders[1].size
        out[3] = _shifted(orders[0], 1).x if False else kept.price

    orders = np.array([(1, 2), (3, 4)], ORDER)

    def run(out):
        launch(kernel, 1, 1, out, orders)
        return out.tolist()

    assert run(np.zeros(4)) == [16, -13, 103, 3]


def test_values_in_loops_are_distinct():
    """A value made in a loop keeps its fields when the loop makes the next one."""

    def kernel(out, n):
        first = last = ORDER(-1, -1)
        for i in range(n):
            now = ORDER(i * 0.5, i)
            if i == 1:
                first = now
            if i & 1:
                last = now
        out[0] = first
        out[1] = last

    out = np.zeros(2, ORDER)
    launch(kernel, 1, 1, out, 6)
    assert out.tolist() == [(0.5, 1), (2.5, 5)]


def test_branches_join_values():
    def kernel(out, i):
        order = ORDER(1, 2) if i == 0 else ORDER(3, 4)
        if i == 1:
            order = ORDER(order.price + 10, order.size)
        out[0] = order

    for i, expected in ((0, (1, 2)), (1, (13, 4)), (2, (3, 4))):
        out = np.zeros(1, ORDER)
        launch(kernel, 1, 1, out, i)
        assert out[0].tolist() == expected


def test_copies_between_arrays():
    def kernel(a, b):
        i = cuda.grid(1)
        kept = a[i].copy()
        a[i] = b[i]
        b[i] = kept
        a[i].grid = b[i].grid
        a[i].start = POINT(a[i].start.y, a[i].start.x)

    rng = np.random.default_rng(1)
    a = np.frombuffer(rng.integers(0, 60, 4 * LINE.itemsize, np.uint8).tobytes(), LINE).copy()
    b = np.frombuffer(rng.integers(0, 60, 4 * LINE.itemsize, np.uint8).tobytes(), LINE).copy()
    want_a, want_b = b.copy(), a.copy()
    want_a["grid"] = want_b["grid"]
    start = want_a["start"].copy()
    want_a["start"]["x"], want_a["start"]["y"] = start["y"], start["x"]
    launch(kernel, 1, 4, a, b)
    assert a.tobytes() == want_a.tobytes()
    assert b.tobytes() == want_b.tobytes()


def test_tuples_are_stored_field_by_field_as_numpy_does():
    """A tuple of a record's own parts sees the fields that the store has already written."""

    def kernel(out):
        out[0] = (out[0].end, out[0].start, 1, 2, 3)

    out = np.zeros(1, LINE)
    out[0] = ((1, 2), (3, 4), 5, 6, 7)
    expected = out.copy()
    expected[0] = (expected[0]["end"], expected[0]["start"], 1, 2, 3)
    launch(kernel, 1, 1, out)
    assert out.tobytes() == expected.tobytes()


def test_a_view_and_a_value_that_meet_are_refused():
    """One is memory that later stores change, the other is not."""

    def kernel(orders, i):
        order = orders[0]
        if i:
            order = ORDER(1, 2)
        orders[1].size = order.size

    with pytest.raises(TypingError, match="a value of Record"):
        module_of(kernel, np.zeros(2, ORDER), 1)


def _change(out):
    order = ORDER(1, 2)
    order.size = 3
    out[0] = order


def _change_item(out):
    order = ORDER(1, 2)
    order["size"] = 3
    out[0] = order


def _missing(out):
    out[0] = ORDER(1)


def _too_many(out):
    out[0] = ORDER(1, 2, 3)


def _twice(out):
    out[0] = ORDER(1, price=2)


def _unknown(out):
    out[0] = ORDER(1, amount=2)


def _short_tuple(out):
    out[0] = (1, 2, 3)


def _other_record(out):
    out[0] = POINT(1, 2)


def _complex_to_real(out):
    out[0] = ORDER(1j, 2)


def _no_field(out):
    out[0].size = ORDER(1, 2).amount


def _derived(out):
    out[0] = Derived(1, 2)


def _truth(out):
    if out[0]:
        out[0].size = 1


def _wrong_elements(out):
    out[0].size = LINE(POINT(1, 2), POINT(1, 2), 1, (1, 2, 3), 0).tag


def _wrong_shape(out):
    other = cuda.local.array((3, 3), np.float64)
    out[0].size = LINE(POINT(1, 2), POINT(1, 2), 1, other, 0).tag


@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        (_change, "does not change.*price|does not change.*size"),
        (_change_item, "does not change"),
        (_missing, r"takes \(price, size\), not one value"),
        (_too_many, r"takes \(price, size\), not 3"),
        (_twice, r"takes \(price, size\)"),
        (_unknown, r"takes \(price, size\)"),
        (_short_tuple, "a record .* is required here, not tuple"),
        (_other_record, "a record .* is required here, not a value of"),
        (_complex_to_real, "complex number does not convert"),
        (_no_field, "no field 'amount'; it has price, size"),
        (_truth, "has no truth value"),
        (_wrong_elements, "the field grid has 2 elements, but 3"),
        (_wrong_shape, r"shape \(3, 3\) does not fit the field grid: \(2, 3\)"),
    ],
)
def test_refusals(kernel, says):
    with pytest.raises(TypingError, match=says) as caught:
        module_of(kernel, np.zeros(1, ORDER))
    assert "^" in str(caught.value)


def test_a_derived_class_is_not_its_base():
    with pytest.raises(UnsupportedError, match="cannot be called"):
        module_of(_derived, np.zeros(1, ORDER))


def test_large_records_are_not_values():
    large = np.dtype([("data", np.int32, (65,))])

    def kernel(out):
        out[0] = large(0)

    with pytest.raises(UnsupportedError, match=r"65 numbers.*fill the fields"):
        module_of(kernel, np.zeros(1, large))


def test_array_of_unknown_extent():
    triple = np.dtype([("data", np.int32, (3,))])

    def kernel(out, data):
        out[0] = triple(data)

    with pytest.raises(TypingError, match="known at run time"):
        module_of(kernel, np.zeros(1, triple), np.zeros(3, np.int32))


def _with(fields):
    """A kernel that makes a record of a class with these fields, the same text each time."""
    record = np.dtype(fields)

    class Made:
        __gridlane_type__ = numpy_types.from_numpy(record)

    def kernel(out):
        out[0] = Made(1, 2).b

    return kernel


def test_the_key_of_a_kernel_has_the_fields_of_the_classes_that_it_names():
    one, two, same = (
        fingerprint(_with(fields))
        for fields in (
            [("a", np.int32), ("b", np.int32)],
            [("a", np.int32), ("b", np.int64)],
            [("a", np.int32), ("b", np.int32)],
        )
    )
    assert one != two
    assert one == same


def test_dtype_of_a_record():
    def kernel(out, orders):
        made = cuda.local.array(2, orders[0].dtype)
        made[1] = ORDER(5, 6)
        out[0] = made[1].size + ORDER(1, 2).dtype.size

    assert returned(kernel, np.zeros(1, ORDER)) == 6 + 8


def test_records_of_other_labels_are_copied_by_their_fields():
    """A label tells classes apart; a store needs the same fields."""
    labelled = dataclasses.replace(numpy_types.from_numpy(ORDER), label="Order", number=7)
    assert labelled != numpy_types.from_numpy(ORDER)
    assert str(labelled) == "Order"

    def kernel(out, price):
        out[0] = labelled(price, 2)
        out[1] = ORDER(labelled(price, 3))

    out = np.zeros(2, ORDER)
    launch(kernel, 1, 1, out, np.float32(2.5))
    assert out.tolist() == [(2.5, 2), (2.5, 3)]


def test_titles_are_no_fields_of_their_own():
    """A title names the field that it is of, as in numpy, and counts for none."""
    titled = np.dtype([(("weight in kg", "weight"), np.int32), (("metres", "height"), np.float32)])

    def kernel(a, out):
        out[0] = a[0][1] + a[0]["weight in kg"] + a[0].metres + a["metres"][0]
        a[1] = (7, 8.5)
        a[2] = titled(3, height=4)
        value = a[1].copy()
        out[1] = value[1] + value.metres

    a, out = np.array([(1, 2.5)] * 3, titled), np.zeros(2)
    launch(kernel, 1, 1, a, out)
    assert a.tolist() == [(1, 2.5), (7, 8.5), (3, 4.0)] and out.tolist() == [8.5, 17.0]


def test_tuples_in_whole_views():
    """numpy takes a tuple for one record, which every element is."""
    kind = np.dtype([("price", np.float64), ("size", np.int32)])

    def kernel(a, b):
        a[:] = (1.5, 5)
        b[:] = ((1.5, 5), (2, 6))

    a, b = np.zeros(3, kind), np.zeros(2, kind)
    launch(kernel, 1, 1, a, b)
    assert a.tolist() == [(1.5, 5)] * 3 and b.tolist() == [(1.5, 5), (2.0, 6)]
