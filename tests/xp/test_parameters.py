"""Parameters of functions at their edges, beside NumPy's results and errors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import xp

ANYWHERE = pytest.mark.parametrize("device", ["interp", *DEVICES])
Call = Callable[[Any, Callable[[Any], Any]], Any]


def outcome(call: Callable[[], Any]) -> Any:
    """The dtype, shape and elements of a result, or the kind of an error."""
    try:
        result = call()
    except (TypeError, ValueError, IndexError) as error:
        return next(kind for kind in (TypeError, IndexError, ValueError) if isinstance(error, kind))
    parts = result if isinstance(result, tuple) else (result,)
    return [(each.dtype, each.shape, np.asarray(each).tolist()) for each in parts]


def same(call: Call) -> None:
    with np.errstate(all="ignore"):
        expected = outcome(lambda: call(np, np.asarray))
    assert outcome(lambda: call(xp, xp.asarray)) == expected


UFUNCS: dict[str, Call] = {
    "out_larger": lambda m, a: m.add(a([1, 2]), 1, out=a(np.zeros((3, 2), int))),
    "out_smaller": lambda m, a: m.add(a([[1, 2], [3, 4]]), 1, out=a([0, 0])),
    "where_larger_than_out": lambda m, a: m.add(a([1, 2]), 1, out=a([0, 0]), where=a([[True]] * 2)),
    "where_of_numbers": lambda m, a: m.add(a([1, 2]), 1, out=a([0, 0]), where=[True, False]),
    "where_of_floats": lambda m, a: m.add(a([1.0]), 1, out=a([0.0]), where=a([1.0])),
    "casting_of_inputs": lambda m, a: m.sqrt(a([1, 4]), casting="no"),
    "casting_safe": lambda m, a: m.add(a(np.int8([1])), a(np.int32([1])), casting="safe"),
    "casting_unknown": lambda m, a: m.add(a([1.0]), 1, casting="bad"),
    "dtype_and_scalar": lambda m, a: m.add(a(np.float16([1])), np.float32(1), dtype="float16"),
    "dtype_and_wide_scalar": lambda m, a: m.add(a([1, 2]), np.float64(1.5), dtype="int64"),
    "dtype_and_number": lambda m, a: m.add(a([1, 2]), 1.5, dtype="int64"),
    "dtype_unsafe": lambda m, a: m.add(a([1.5, 2.5]), 1, dtype="int64", casting="unsafe"),
    "dtype_of_comparison": lambda m, a: m.greater(a([1.5, 2.5]), 2, dtype="bool"),
    "dtype_of_test": lambda m, a: m.isnan(a([1j, 2]), dtype="bool"),
    "dtype_unfit": lambda m, a: m.greater(a([1.5, 2.5]), 2, dtype="int64"),
}  # fmt: skip
OTHERS: dict[str, Call] = {
    "sum": lambda m, a: m.sum(a(3), axis=0),
    "max": lambda m, a: m.max(a(3.5), axis=-1, keepdims=True),
    "any": lambda m, a: m.any(a(3), axis=-1),
    "argmax": lambda m, a: m.argmax(a(3), axis=0),
    "sum_beyond": lambda m, a: m.sum(a(3), axis=1),
    "sum_tuple": lambda m, a: m.sum(a(3), axis=(0,)),
    "mean": lambda m, a: m.mean(a(3), axis=0),
    "digitize_bool": lambda m, a: m.digitize(a([True, False]), a([True, False])),
    "digitize_unsigned": lambda m, a: m.digitize(a(np.uint8([1, 9])), a(np.uint8([8, 4, 2]))),
    "digitize_unsorted": lambda m, a: m.digitize(a(np.uint8([1, 9])), a(np.uint8([4, 2, 8]))),
    "digitize_wide": lambda m, a: m.digitize(a([0]), a(np.int64([-(2**63), 2**63 - 1]))),
    "digitize_complex": lambda m, a: m.digitize(a([1j]), a([0.0, 1.0])),
    "norm_of_a_vector": lambda m, a: m.linalg.norm(a([1.0, 2.0]), ord="fro"),
    "matrix_power": lambda m, a: m.linalg.matrix_power(a([[np.inf, 1.0], [0.0, 2.0]]), 1),
    "clip_mixed": lambda m, a: m.clip(a(np.uint16([1, 2])), -1, 1.5),
}


DTYPES: dict[str, Call] = {
    "average": lambda m, a: m.average(a([2**62, 2**62]), weights=a(np.uint8([3, 3]))),
    "average_of_narrow": lambda m, a: m.average(a(np.int8([100, 100])), weights=a(np.int8([9, 9]))),
    "average_of_half": lambda m, a: m.average(a(np.int8([1, 3])), weights=a(np.float16([1, 1]))),
    "average_of_float": lambda m, a: m.average(a(np.float32([1, 3])), weights=a([1, 1])),
    "average_of_bool": lambda m, a: m.average(a([True, False]), weights=a([True, True])),
    "linspace": lambda m, a: m.linspace(0, np.float32(2), 5),
    "linspace_of_narrow": lambda m, a: m.linspace(np.int8(0), np.int8(4), 5),
    "linspace_complex": lambda m, a: m.linspace(np.complex64(0), 2, 3),
    "logspace": lambda m, a: m.logspace(np.float32(0), 2, 3),
    "arange": lambda m, a: m.arange(0, 9, dtype="bool"),
}


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_of_results_and_sums_are_numpys(name: str) -> None:
    same(DTYPES[name])


def test_sizes_along_several_dimensions() -> None:
    assert xp.size(xp.zeros((2, 3, 4)), (0, -1)) == 8


POSITIONS: dict[str, Call] = {
    "zeros": lambda m, a: m.zeros((2, 3), np.int8),
    "full": lambda m, a: m.full((2,), 7, np.float32),
    "ones_like": lambda m, a: m.ones_like(a([1.5]), np.int16),
    "eye": lambda m, a: m.eye(3, 4, 1, np.int8),
    "arange": lambda m, a: m.arange(0, 4, 2, np.float32),
    "asarray": lambda m, a: m.asarray([1, 2], np.float32),
    "roll": lambda m, a: m.roll(a([[1, 2, 3]]), 1, 1),
    "flip": lambda m, a: m.flip(a([[1, 2, 3]]), 1),
    "repeat": lambda m, a: m.repeat(a([[1, 2]]), 2, 0),
    "take": lambda m, a: m.take(a([[1, 2]]), a([1]), 1),
    "concat": lambda m, a: m.concat([a([[1]]), a([[2]])], 1),
    "stack": lambda m, a: m.stack([a([1]), a([2])], 1),
    "tril": lambda m, a: m.tril(a([[1, 2], [3, 4]]), -1),
    "tensordot": lambda m, a: m.tensordot(a([[1, 2]]), a([[1], [2]]), 1),
    "fft": lambda m, a: m.fft.fft(a([1.0, 2.0]), 4),
    "fftshift": lambda m, a: m.fft.fftshift(a([[1, 2, 3]]), 1),
    "where": lambda m, a: m.where(a([[0, 1], [2, 0]])),
}
NUMBERS: dict[str, Call] = {
    "sqrt": lambda m, a: m.sqrt(2.0),
    "sqrt_of_an_integer": lambda m, a: m.sqrt(2),
    "add": lambda m, a: m.add(1, 2.5),
    "bool": lambda m, a: m.add(True, 2),
    "scalar": lambda m, a: m.add(2.5, np.float32(1)),
    "scalars": lambda m, a: m.add(np.int8(1), np.int16(1)),
    "where": lambda m, a: m.where(True, 1, 2.5),
    "complex": lambda m, a: m.exp(0j),
}


@pytest.mark.parametrize("name", POSITIONS)
def test_parameters_have_numpys_positions(name: str) -> None:
    same(POSITIONS[name])


@pytest.mark.parametrize("name", NUMBERS)
def test_operations_on_numbers_have_numpys_dtypes(name: str) -> None:
    same(NUMBERS[name])


def test_operations_on_numbers_are_on_the_current_device() -> None:
    with gridlane.device("interp"):
        assert xp.sqrt(2.0).device == "interp"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("busday_count", r"xp\.asarray\(np\.busday_count\(np\.asarray\(x\)\)\)"),
        ("linalg.tensorinv", r"np\.linalg\.tensorinv"),
        ("random.randn", r"xp\.random\.default_rng"),
        ("no_such_name", "has no attribute 'no_such_name'$"),
        ("random.no_such_name", "has no attribute 'no_such_name'$"),
    ],
)
def test_names_of_numpy_that_are_lacking_are_refused_with_what_to_do(name: str, hint: str) -> None:
    *parts, last = name.split(".")
    with pytest.raises(AttributeError, match=hint):
        getattr(functools.reduce(getattr, parts, xp), last)


def test_numpys_other_names() -> None:
    x = xp.asarray([1.25, 2.75])
    assert xp.concatenate([x, x]).tolist() == [1.25, 2.75] * 2
    assert float(xp.amax(x)) == 2.75
    assert float(xp.amin(x)) == 1.25
    assert xp.around(x, 1).tolist() == [1.2, 2.8]


@pytest.mark.parametrize("name", UFUNCS)
def test_parameters_of_ufuncs_are_numpys(name: str) -> None:
    same(UFUNCS[name])


@pytest.mark.parametrize("name", OTHERS)
def test_parameters_of_functions_are_numpys(name: str) -> None:
    same(OTHERS[name])


def test_histograms_of_complex_numbers_are_refused() -> None:
    with pytest.raises(TypeError, match="complex numbers have no order"):
        xp.histogram(xp.asarray([1j]))


@ANYWHERE
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int64", "float16"])
def test_extremes_of_no_elements_are_initial(dtype: str, device: str) -> None:
    x = np.asarray([[1, 0], [1, 1]], dtype)
    mask = np.asarray([[False, False], [True, False]])
    own, own_mask = xp.asarray(x, device=device), xp.asarray(mask, device=device)
    for name in ("min", "max"):
        for initial in (False, True) if dtype == "bool" else (0, 1):
            expected = getattr(np, name)(x, axis=1, where=mask, initial=initial)
            got = getattr(xp, name)(own, axis=1, where=own_mask, initial=initial)
            assert np.array_equal(got, expected)


def test_results_share_no_memory_with_operands() -> None:
    x = xp.asarray([1.0, 2.0])
    matrix = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    for operand, result in ((x, xp.clip(x)), (matrix, xp.linalg.matrix_power(matrix, 1))):
        before = operand.tolist()
        result[...] = 9
        assert operand.tolist() == before


@pytest.mark.parametrize(
    "call",
    [
        lambda x, other: xp.add(x, 1, out=other),
        lambda x, other: xp.sum(xp.stack([x, x]), axis=0, out=other),
        lambda x, other: xp.cumsum(x, out=other),
        lambda x, other: xp.add(x, 1, out=xp.ones(2, device="cpu"), where=other > 0),
        lambda x, other: xp.sum(x, where=other > 0),
        lambda x, other: xp.mean(x, where=other > 0),
        lambda x, other: xp.max(x, where=other > 0, initial=0),
        lambda x, other: xp.copyto(x, other),
        lambda x, other: x.__iadd__(other),
        lambda x, other: x.__setitem__(slice(1), other[:1]),
        lambda x, other: xp.clip(x, other, 2),
        lambda x, other: xp.where(x > 0, other, 0),
    ],
)
def test_arrays_of_several_devices_are_refused(call: Callable[[Any, Any], Any]) -> None:
    x, other = xp.ones(2, device="cpu"), xp.zeros(2, device="interp")
    with pytest.raises(ValueError, match=r"on the devices? .*(cpu|interp)"):
        call(x, other)
    assert other.tolist() == [0, 0]
    assert x.tolist() == [1, 1]


def test_pythons_round_and_iteration() -> None:
    assert round(xp.asarray(2.345), 1) == 2.3
    assert round(xp.asarray(7)) == 7
    assert round(xp.sum(xp.asarray([1.25, 2.5]))) == 4
    with pytest.raises(TypeError, match="iteration over an array of no dimensions"):
        iter(xp.asarray(1.0))


@pytest.mark.parametrize("operand", [np.eye(2), [[1.0, 0.0], [0.0, 1.0]], None, "ab"])
@pytest.mark.parametrize(
    "name",
    [
        *("clip", "explain", "fft.fftshift", "fft.ifftshift", "linalg.diagonal", "linalg.inv"),
        *("linalg.matrix_norm", "linalg.norm", "linalg.pinv", "linalg.trace", "linalg.vector_norm"),
    ],
)
def test_operands_that_are_no_arrays_are_refused(name: str, operand: Any) -> None:
    with pytest.raises(TypeError, match=r"array of gridlane\.xp"):
        functools.reduce(getattr, name.split("."), xp)(operand)


def test_second_operands_of_the_host_are_refused() -> None:
    with pytest.raises(TypeError, match="solve: an operand is a list of the host"):
        xp.linalg.solve(xp.eye(2), [1.0, 2.0])
    with pytest.raises(TypeError, match=r"outer: an operand is an array of gridlane\.xp"):
        xp.linalg.outer(xp.ones(2), np.ones(2))


def test_views_whose_elements_share_memory_are_not_changed_in_place() -> None:
    view = xp.broadcast_to(xp.asarray([1.0, 2.0]), (3, 2))
    with pytest.raises(ValueError, match="read-only"):
        view += 1
    assert view.tolist() == [[1, 2]] * 3
