"""Parameters of functions at their edges, beside NumPy's results and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.devices import DEVICES

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
