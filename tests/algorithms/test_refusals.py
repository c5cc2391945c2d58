"""What algorithms refuse, and how they say it."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from tests.algorithms.on_devices import room, up

import gridlane
from gridlane import algorithms, cuda
from gridlane.algorithms import CountingIterator, OpKind, TransformIterator, operators

X = np.arange(10, dtype=np.int32)


def reduced(**changes):
    arguments = {
        "d_in": X, "d_out": np.zeros(1, np.int32), "num_items": 10, "op": OpKind.PLUS,
        "h_init": np.int32(0),
    }  # fmt: skip
    algorithms.reduce_into(**(arguments | changes))


def too_big(a, b):
    if a + b > 20:
        raise ValueError("too big")
    return a + b


def opens_a_file(a, b):
    return a + len(open("x").read())


def test_an_operator_that_raises_shows_its_line():
    with pytest.raises(ValueError, match=r"too big(.|\n)*raise ValueError") as error:
        reduced(op=too_big)
    assert "test_refusals.py" in str(error.value)


def test_an_operator_that_kernels_cannot_run_shows_its_line():
    with pytest.raises(Exception, match=r"open(.|\n)*return a \+ len\(open"):
        reduced(op=opens_a_file)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"num_items": -1}, ValueError, "num_items is -1; it must be from 0"),
        ({"num_items": 2.5}, TypeError, "num_items is 2.5; it must be an integer"),
        ({"num_items": 11}, ValueError, "d_in has 10 items, and the call uses 11"),
        ({"num_items": 1 << 31}, ValueError, "the call uses 2147483648"),
        ({"d_out": np.zeros(0, np.int32)}, ValueError, "d_out has 0 items"),
        ({"d_out": CountingIterator(np.int32(0))}, TypeError, "d_out is a CountingIterator, which"),
        ({"d_in": [1, 2]}, TypeError, "d_in: an array in device memory or an iterator is required"),
        (
            {"d_in": X.astype(complex)},
            TypeError,
            "input dtype complex128 does not convert to int32",
        ),
        ({"d_in": X[::2], "num_items": 5}, ValueError, "Non-contiguous arrays are not supported"),
        ({"op": lambda a: a}, TypeError, "takes 1 arguments; it is called with 2"),
        ({"op": OpKind.NEGATE}, TypeError, "OpKind.NEGATE, which takes 1 values; 2 are given"),
        ({"op": 3}, TypeError, "op is 3 of type int; a Python function or an OpKind is required"),
        ({"h_init": 1 << 31}, ValueError, "h_init is 2147483648, which int32 does not hold"),
        ({"d_in": np.zeros(10, [("a b", "i4")])}, TypeError, "the field 'a b' of"),
        ({"h_init": np.zeros(2, np.int32)}, ValueError, "h_init is one value; got 2"),
        ({"stream": "fast"}, TypeError, "does not implement the '__cuda_stream__' protocol"),
        ({"d_in": np.array(["a"])}, TypeError, "items of dtype <U1 are unsupported"),
    ],
)
def test_arguments(changes, error, message):
    with pytest.raises(error) as caught:
        reduced(**changes)
    assert message in str(caught.value)


def test_an_operator_with_a_changing_capture():
    limits = [1, 2]
    with pytest.raises(TypeError, match="captures limits, a list, whose values may change"):
        reduced(op=lambda a, b: a + limits[0])


def test_other_captures_are_part_of_the_operator():
    out = np.zeros(10, np.int32)
    for factor in (2, 3):
        algorithms.unary_transform(d_in=X, d_out=out, op=lambda x: x * factor, num_items=10)
        assert np.array_equal(out, X * factor)


LIMIT = 3


def test_globals_of_inner_functions_are_captured(monkeypatch):
    def adds(x):
        def inner(y):
            return y + LIMIT

        return inner(x)

    out = np.zeros(10, np.int32)
    for limit in (3, 5):
        monkeypatch.setitem(globals(), "LIMIT", limit)
        algorithms.unary_transform(d_in=X, d_out=out, op=adds, num_items=10)
        assert np.array_equal(out, X + limit)


def test_options_of_device_functions_are_part_of_the_operator():
    def half(x):
        return x / 2 == x * 0.5

    op, again, other = (
        operators.operator(cuda.jit(half, device=True, floats=floats), 1, None)
        for floats in ("float32", "float32", "float64")
    )
    assert op == again != other
    assert op.function.options.floats == "float32" != other.function.options.floats


def test_signs_of_captured_zeros():
    out = np.zeros(2)
    for zero in (0.0, -0.0):
        algorithms.unary_transform(d_in=np.ones(2), d_out=out, op=lambda x: x * zero, num_items=2)
        assert np.signbit(out).tolist() == [np.signbit(zero)] * 2


def test_a_counter_that_is_too_small():
    with pytest.raises(ValueError, match="dtype int8, which does not hold 300 items"):
        algorithms.select(
            d_in=CountingIterator(np.int32(0)),
            d_out=np.zeros(300, np.int32),
            d_num_selected_out=np.zeros(1, np.int8),
            cond=lambda x: x > 5,
            num_items=300,
        )


def test_a_part_of_the_input_as_output():
    x = np.arange(10)
    with pytest.raises(ValueError, match="unary_transform: an output is in the memory of an input"):
        algorithms.unary_transform(d_in=x[:9], d_out=x[1:], op=OpKind.NEGATE, num_items=9)
    with pytest.raises(ValueError, match="inclusive_scan: an output is in the memory of an input"):
        algorithms.inclusive_scan(d_in=x[:9], d_out=x[1:], op=OpKind.PLUS, num_items=9)


def test_arrays_of_several_devices():
    with gridlane.device("interp"):
        there = up(X)
    with pytest.raises(
        ValueError, match="on several devices: int32 of 10 items on 'interp', int32"
    ):
        reduced(d_in=there, d_out=room(1, np.int32))


def test_code_of_another_gpu():
    with pytest.raises(NotImplementedError, match="compute_capability is unsupported"):
        algorithms.make_unary_transform(d_in=X, d_out=X, op=OpKind.NEGATE, compute_capability=80)


def test_arguments_that_are_missing_or_unknown():
    """Both forms of an algorithm are made from one function, and are called by their own names."""
    names = "'d_data', 'd_values', and 'd_out'"
    with pytest.raises(TypeError, match=rf"make_lower_bound\(\) missing 3 .* arguments: {names}"):
        algorithms.make_lower_bound()
    with pytest.raises(
        TypeError, match=r"^make_exclusive_scan\(\) missing 1 .* argument: 'init_va"
    ):
        algorithms.make_exclusive_scan(d_in=X, d_out=X, op=OpKind.PLUS)
    with pytest.raises(TypeError, match=r"^unary_transform\(\) missing 2 .*: 'op' and 'num_items'"):
        algorithms.unary_transform(d_in=X, d_out=X)
    with pytest.raises(TypeError, match="make_unary_transform has no argument num_items"):
        algorithms.make_unary_transform(d_in=X, d_out=X, op=OpKind.NEGATE, num_items=10)


def test_signatures_of_both_forms():
    given = "d_in: 'Any', d_out: 'Any', op: 'Any'"
    expected = f"(*, {given}, num_items: 'int', stream: 'Any' = None) -> 'None'"
    assert str(inspect.signature(algorithms.unary_transform)) == expected
    made = inspect.signature(algorithms.make_unary_transform)
    assert str(made) == f"(*, {given}, **options: 'Any') -> 'Any'"


def test_counts_above_31_bits():
    """A constant has no end; the count is past what an int32 holds only in the error's text here:
    places are 64-bit integers in kernels, which a counting iterator shows."""
    first = (1 << 31) + 5
    out = np.zeros(4, np.int64)
    source = TransformIterator(CountingIterator(np.int64(0)), lambda x: x * 2) + first
    algorithms.unary_transform(d_in=source, d_out=out, op=OpKind.IDENTITY, num_items=4)
    assert out.tolist() == [2 * (first + n) for n in range(4)]
