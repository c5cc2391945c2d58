"""Reductions of arrays in kernels: values against numpy, types against numba 0.68.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.frontends.running import launch, module_of, type_of

from gridlane.core.errors import TypingError, UnsupportedError
from gridlane.core.options import KernelOptions
from gridlane.core.source import describe
from gridlane.frontends.python.translation import translate_device


def methods(a, out):
    out[0] = a.sum()
    out[1] = a.prod()
    out[2] = a.mean()
    out[3] = a.var()
    out[4] = a.std()
    out[5] = a.all()
    out[6] = a.any()


def ordered_methods(a, out):
    out[0] = a.min()
    out[1] = a.max()
    out[2] = a.argmin()
    out[3] = a.argmax()


def functions(a, out):
    out[0] = np.sum(a)
    out[1] = np.prod(a)
    out[2] = np.mean(a)
    out[3] = np.var(a)
    out[4] = np.std(a)
    out[5] = np.all(a)
    out[6] = np.any(a)


def ordered_functions(a, out):
    out[0] = np.min(a)
    out[1] = np.max(a)
    out[2] = np.argmin(a)
    out[3] = np.argmax(a)
    out[4] = np.amin(a)
    out[5] = np.amax(a)


def of_numbers(a, out):
    out[0] = np.nansum(a)
    out[1] = np.nanprod(a)
    out[2] = np.nanmean(a)
    out[3] = np.count_nonzero(a)


def ordered_of_numbers(a, out):
    out[0] = np.nanmin(a)
    out[1] = np.nanmax(a)
    out[2] = np.nanvar(a)
    out[3] = np.nanstd(a)


KINDS = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"]


def layouts(values: np.ndarray) -> list[np.ndarray]:
    """Arrays of these values of several shapes and layouts."""
    cube = values[:12].reshape(2, 3, 2)
    return [values, values[::-2], cube, np.asfortranarray(cube), cube.T[::-1, :, :1]]


def same(function: Any, array: np.ndarray) -> None:
    wanted, found = np.zeros(7, np.complex128), np.zeros(7, np.complex128)
    with np.errstate(all="ignore"):
        function(array, wanted)
    launch(function, 1, 1, array, found)
    loose = array.dtype.itemsize == 2 and array.dtype.kind == "f"
    np.testing.assert_allclose(found, wanted, rtol=2e-2 if loose else 1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_values_in_all_layouts(kind):
    values = np.array([1, 0, 2, 1, 3, 1, 1, 2, 1, 0, 1, 2, 1]).astype(kind)
    if kind[0] == "c":
        values = values + (values[::-1] * 2j).astype(kind)
    is_complex = kind[0] == "c"
    for array in layouts(values)[:: 1 if kind == "f4" else 2]:
        same(methods, array)
        if not is_complex:
            same(ordered_methods, array)
    same(functions, values)
    same(of_numbers, values)
    if not is_complex:
        same(ordered_functions, values)
        same(ordered_of_numbers, values)


@settings(max_examples=30)
@given(
    st.lists(
        st.one_of(st.integers(-9, 9).map(float), st.sampled_from([np.nan, np.inf, -0.0])),
        min_size=1,
        max_size=6,
    )
)
def test_nans_and_infinities(values):
    array = np.array(values)
    if not np.isinf(array).any():
        same(methods, array)
        same(of_numbers, array)
        if not np.isnan(array).all():
            same(ordered_of_numbers, array)
    same(ordered_methods, array)


def test_an_empty_array():
    empty, found = np.zeros(0), np.ones(7, np.complex128)
    launch(methods, 1, 1, empty, found)
    assert found[[0, 1, 5, 6]].tolist() == [0, 1, 1, 0]
    assert np.isnan(found[2:5]).all()


def test_one_sum_goes_from_the_first_element_to_the_last():
    array = np.array([[1e8, 1.0], [1.0, -1e8]], np.float32)
    found = np.zeros(7, np.complex128)
    launch(methods, 1, 1, np.asfortranarray(array), found)
    c = np.float32(0)
    for x in array.reshape(-1):
        c += x
    assert found[0] == c


# numba 0.68.1: by dtype of the array, i1 u2 i4 u8 f4 f8 ? c8
TYPES = {
    "sum": "i8 u8 i8 u8 f4 f8 i8 c8",
    "prod": "i8 u8 i8 u8 f4 f8 i8 c8",
    "min": "i1 u2 i4 u8 f4 f8 ?",
    "max": "i1 u2 i4 u8 f4 f8 ?",
    "mean": "f8 f8 f8 f8 f4 f8 f8 c8",
    "var": "f8 f8 f8 f8 f8 f8 f8 f8",
    "std": "f8 f8 f8 f8 f8 f8 f8 f8",
    "all": "? ? ? ? ? ? ? ?",
    "any": "? ? ? ? ? ? ? ?",
    "argmin": "i8 i8 i8 i8 i8 i8 i8",
    "argmax": "i8 i8 i8 i8 i8 i8 i8",
    "count_nonzero": "i8 i8 i8 i8 i8 i8 i8 i8",
    "nansum": "i8 u8 i8 u8 f4 f8 i8 c8",
    "nanprod": "i8 u8 i8 u8 f4 f8 i8 c8",
    "nanmean": "f8 f8 f8 f8 f8 f8 f8 c16",
    "nanvar": "f8 f8 f8 f8 f8 f8 f8",
    "nanstd": "f8 f8 f8 f8 f8 f8 f8",
    "nanmin": "i1 u2 i4 u8 f4 f8 ?",
    "nanmax": "i1 u2 i4 u8 f4 f8 ?",
}
OF_ONE = {
    "sum": lambda a: np.sum(a),
    "prod": lambda a: np.prod(a),
    "min": lambda a: np.min(a),
    "max": lambda a: np.max(a),
    "mean": lambda a: np.mean(a),
    "var": lambda a: np.var(a),
    "std": lambda a: np.std(a),
    "all": lambda a: np.all(a),
    "any": lambda a: np.any(a),
    "argmin": lambda a: np.argmin(a),
    "argmax": lambda a: np.argmax(a),
    "count_nonzero": lambda a: np.count_nonzero(a),
    "nansum": lambda a: np.nansum(a),
    "nanprod": lambda a: np.nanprod(a),
    "nanmean": lambda a: np.nanmean(a),
    "nanvar": lambda a: np.nanvar(a),
    "nanstd": lambda a: np.nanstd(a),
    "nanmin": lambda a: np.nanmin(a),
    "nanmax": lambda a: np.nanmax(a),
}


@pytest.mark.parametrize("name", TYPES)
def test_result_types_of_numba(name):
    kinds = ["i1", "u2", "i4", "u8", "f4", "f8", "?", "c8"]
    for kind, wanted in zip(kinds, TYPES[name].split(), strict=False):
        argument = type_of(np.zeros(1, kind))
        found = translate_device(OF_ONE[name], (argument,), KernelOptions())[1]
        assert np.dtype(wanted).name == str(found), kind


def builtins(a, out):
    out[0] = sum(a)
    out[1] = sum(a, 2.5)
    out[2] = min(a)
    out[3] = max(a)
    out[4] = any(a)
    out[5] = all(a)
    both = (a[0], a[1])
    out[6] = 10 * any(both) + all(both)


@settings(max_examples=30)
@given(st.lists(st.sampled_from([0.0, 1.0, -2.5, 7.0, np.nan]), min_size=2, max_size=6))
def test_builtins(values):
    wanted, found = np.zeros(7), np.zeros(7)
    builtins(np.array(values), wanted)
    launch(builtins, 1, 1, np.array(values), found)
    np.testing.assert_array_equal(found, wanted)


def with_an_axis(a, out):
    out[0] = a.sum(0)


def with_an_axis_by_name(a, out):
    out[0] = np.sum(a, axis=0)


def of_records(a, out):
    out[0] = a.sum()


def of_a_number(a, out):
    out[0] = np.sum(out[0])


def smallest_complex(a, out):
    out[0] = a.min()


def builtin_of_a_matrix(a, out):
    out[0] = sum(a)


REFUSED = [
    (builtin_of_a_matrix, np.zeros((2, 2)), TypingError, "one dimension"),
    (with_an_axis, np.zeros((2, 2)), UnsupportedError, "without an axis"),
    (with_an_axis_by_name, np.zeros((2, 2)), UnsupportedError, "without an axis"),
    (of_records, np.zeros(2, [("x", "f4")]), TypingError, "holds no numbers"),
    (of_a_number, np.zeros(2), TypingError, "takes an array"),
    (smallest_complex, np.zeros(2, "c8"), TypingError, "order"),
]


@pytest.mark.parametrize(("function", "array", "error", "words"), REFUSED)
def test_refused_in_words(function, array, error, words):
    with pytest.raises(error, match=words):
        launch(function, 1, 1, array, np.zeros(2))


def minimum_of_nothing(a, out):
    out[0] = a.min()


def test_the_minimum_of_nothing_is_an_error():
    _, result = launch(minimum_of_nothing, 1, 1, np.zeros(0), np.zeros(1))
    assert result.error is not None


def of_empty_arrays(a, out):
    if out[0] == 0:
        out[1] = a.min()
    elif out[0] == 1:
        out[1] = np.argmax(a)
    elif out[0] == 2:
        out[1] = max(a)
    elif out[0] == 3:
        out[1] = a.min()  # another place of the same function


@pytest.mark.parametrize(("case", "text"), [*enumerate(["a.min()", "np.argmax(a)", "max(a)"])])
def test_errors_have_the_place_of_the_call(case, text):
    """And no line of gridlane's own, which the user has not written."""
    module, result = launch(of_empty_arrays, 1, 1, np.zeros(0), np.full(2, case, np.float64))
    assert result.error is not None
    sites = [site for site in module.errors if "empty" in site.message or "zero" in site.message]
    assert {site.loc.file for site in sites} == {__file__} and len(sites) == 4
    assert len({site.loc.line for site in sites}) == 4
    site = module.errors[result.error[0]]
    assert text in describe(site.loc) and site.loc.function == "of_empty_arrays"


def sums_of_records(a, out):
    out[0] = sum(a)


def order_of_records(a, out):
    out[0] = max(a)


def truth_of_records(a, out):
    out[0] = 1 if any(a) else 2


@pytest.mark.parametrize("function", [sums_of_records, order_of_records, truth_of_records])
def test_errors_of_types_have_the_place_of_the_call(function):
    with pytest.raises(TypingError) as caught:
        launch(function, 1, 1, np.zeros(2, [("x", "f4")]), np.zeros(1))
    loc = caught.value.loc
    assert (loc.file, loc.function, loc.caller) == (__file__, function.__name__, None)
    assert "reductions.py" not in str(caught.value).replace("test_reductions.py", "")


def test_lines_of_a_reduction_are_those_of_its_call():
    """So that profiles, explanations and debug information show the user's line."""
    module = module_of(methods, np.zeros(3), np.zeros(7, np.complex128))
    files = {op.loc.file for f in module.functions.values() for op in f.body.walk()}
    assert files == {__file__}


def means(a, out):
    out[0], out[1], out[2], out[3] = a.mean(), a.var(), a.std(), np.nanmean(a)


def test_means_of_halves_add_in_float32():
    """As numpy's: a sum in float16 would stay at 2048. The mean is a float16, as in numba."""
    for array in (np.ones(5000, np.float16), np.arange(3000).astype(np.float16) / 8):
        found = np.zeros(4)
        launch(means, 1, 1, array, found)
        wide = array.astype(np.float64)
        want = [wide.mean().astype(np.float16), wide.var(), wide.std(), wide.mean()]
        np.testing.assert_allclose(found, want, rtol=1e-5)
        assert found[0] == array.mean()
    assert str(translate_device(OF_ONE["mean"], (type_of(array),), KernelOptions())[1]) == "float16"


def ranges(a, out):
    if range(3):
        out[0] = 1


def pairs(a, out):
    out[0] = 1 if zip(a, a) else 2


def turned(a, out):
    out[0] = not reversed(a)


@pytest.mark.parametrize("function", [ranges, pairs, turned])
def test_what_has_no_truth_value(function):
    """It counted as true, whatever it was: an empty range is false in Python."""
    with pytest.raises(TypingError, match="has no truth value"):
        launch(function, 1, 1, np.zeros(2), np.zeros(1))
