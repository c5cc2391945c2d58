"""Functions of NumPy's that the standard lacks, beside NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gridlane import device, xp

RANDOM = np.random.default_rng(2)
VECTOR = RANDOM.integers(-9, 9, 4).astype(np.float64)
MATRIX = RANDOM.integers(-9, 9, (3, 4)).astype(np.float32)
CUBE = RANDOM.integers(-9, 9, (2, 3, 4))
ODD = np.array([np.nan, np.inf, -np.inf, 1.0, 1.0 + 1e-9, 0.0])

WEIGHTS = RANDOM.random(9)
NUMBERS = RANDOM.integers(0, 9, 9)

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("append", (MATRIX, MATRIX), {"axis": 1}),
    ("append", (MATRIX, VECTOR), {}),
    ("array_split", (VECTOR, 3), {}),
    ("atleast_1d", (np.array(3.0), VECTOR), {}),
    ("atleast_2d", (VECTOR,), {}),
    ("column_stack", ([VECTOR, VECTOR],), {}),
    ("bincount", (NUMBERS, WEIGHTS, 12), {}),
    ("bincount", (NUMBERS[:0], WEIGHTS[:0]), {}),
    *[("convolve", (VECTOR, WEIGHTS, mode), {}) for mode in ("full", "same", "valid")],
    ("convolve", (NUMBERS, VECTOR[:3] + 1j), {}),
    ("copy", (MATRIX,), {}),
    ("corrcoef", (MATRIX, MATRIX[:1]), {}),
    ("corrcoef", (CUBE[0] + 1j * MATRIX.astype(float),), {"rowvar": False}),
    *[("cov", (MATRIX,), each) for each in ({}, {"bias": True}, {"ddof": 2}, {"rowvar": False})],
    ("cov", (VECTOR,), {}),
    *[("diag", (each, k), {}) for each in (VECTOR, MATRIX) for k in (-2, 0, 1)],
    ("diagonal", (CUBE, 1), {"axis1": 2, "axis2": 0}),
    *[("dot", pair, {}) for pair in ((MATRIX, VECTOR), (CUBE, MATRIX.T), (VECTOR, VECTOR))],
    ("dot", (VECTOR, 2), {}),
    ("einsum", ("ij,kj->ik", MATRIX, MATRIX), {}),
    ("einsum", ("bij,jk", CUBE, MATRIX.T.astype(int)), {}),
    ("einsum", ("ij,ij->j", MATRIX, MATRIX), {}),
    ("einsum", ("ii", MATRIX[:, :3]), {}),
    ("einsum", ("ii->i", MATRIX[:, :3]), {}),
    ("einsum", ("...ij->...ji", CUBE), {}),
    ("einsum", ("...j,j->...", CUBE, VECTOR), {}),
    ("einsum", ("...j,kj", CUBE, MATRIX), {}),
    ("einsum", ("i,j,i->j", VECTOR, VECTOR, VECTOR), {}),
    ("einsum", ("ij,k->k", MATRIX > 0, VECTOR), {}),
    ("einsum", (",dcd", np.array(2.0), CUBE[:, :, :2] > 0), {}),
    ("einsum", ("i,j->j", np.full(300, 100, np.int8), np.arange(3)), {}),
    ("einsum", ("d...,d->...d", np.ones((0, 2)), np.ones(1)), {}),
    ("einsum", ("ij,j", MATRIX > 0, VECTOR[: MATRIX.shape[1]] > 0), {}),
    ("einsum", ("bij,bjk,kl->bil", CUBE, CUBE.swapaxes(1, 2), MATRIX.astype(int)), {}),
    ("einsum", ("i->", VECTOR), {}),
    ("einsum", ("bi,bi->b", MATRIX, MATRIX[:, :1]), {}),
    ("fliplr", (MATRIX,), {}),
    ("flipud", (MATRIX,), {}),
    ("hsplit", (MATRIX, [1, 3]), {}),
    ("hstack", ([MATRIX, MATRIX],), {}),
    ("hstack", ([VECTOR, VECTOR],), {}),
    ("gradient", (CUBE, 2.5), {"axis": (2, 1)}),
    ("gradient", (WEIGHTS, np.cumsum(WEIGHTS)), {"edge_order": 2}),
    ("gradient", (MATRIX.astype(complex), 2, np.array([0, 1, 3, 4])), {}),
    *[("histogram", (WEIGHTS, 4), {"weights": each}) for each in (WEIGHTS, NUMBERS)],
    ("histogram", (WEIGHTS, [0, 0.1, 0.6]), {"weights": NUMBERS, "density": True}),
    ("identity", (3,), {}),
    ("indices", ((2, 3),), {}),
    ("indices", ((2, 3), np.float32), {"sparse": True}),
    ("inner", (CUBE, MATRIX), {}),
    ("isclose", (ODD, ODD[::-1].copy()), {}),
    ("isclose", (ODD, ODD), {"equal_nan": True}),
    ("kron", (MATRIX, VECTOR), {}),
    ("logspace", (0, 3, 4), {}),
    ("nan_to_num", (ODD,), {"nan": 2.0, "posinf": 9.0}),
    ("ndim", (CUBE,), {}),
    ("outer", (MATRIX, VECTOR), {}),
    ("pad", (MATRIX, ((1, 2), (0, 3))), {"constant_values": 7}),
    *[("pad", (MATRIX, 2), {"mode": each}) for each in ("edge", "wrap", "reflect", "symmetric")],
    *[("rot90", (CUBE, k), {"axes": (1, 2)}) for k in range(-1, 4)],
    ("shape", (CUBE,), {}),
    ("size", (CUBE, 1), {}),
    ("split", (MATRIX, 2), {"axis": 1}),
    ("trace", (CUBE,), {"offset": 1}),
    ("tri", (3, 4, 1), {}),
    ("vsplit", (MATRIX, 3), {}),
    ("vstack", ([VECTOR, MATRIX],), {}),
]


def placed(value: Any) -> Any:
    """A value with its arrays on a device."""
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return [placed(each) for each in value]
    return xp.asarray(value) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize(("name", "operands", "options"), CALLS, ids=str)
def test_results_are_numpys(name: str, operands: tuple[Any, ...], options: dict[str, Any]):
    expected = getattr(np, name)(*operands, **options)
    placed_options = {each: placed(value) for each, value in options.items()}
    result = getattr(xp, name)(*map(placed, operands), **placed_options)
    is_several = isinstance(expected, (list, tuple)) and isinstance(expected[0], np.ndarray)
    pairs = zip(result, expected, strict=True) if is_several else [(result, expected)]
    for one, other in pairs:
        if not isinstance(other, (np.ndarray, np.generic)):
            assert type(one) is type(other)
        else:
            assert isinstance(one, xp.Array)
            assert one.dtype == other.dtype
            assert one.shape == other.shape
        assert np.allclose(np.asarray(one), other, rtol=1e-13, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", ["mgrid", "ogrid"])
def test_grids_by_slices_are_numpys(name: str):
    ours, numpys = getattr(xp, name), getattr(np, name)
    for key in (np.s_[0:3, 1:4], np.s_[0:1:5j, 2:3], np.s_[3:9:2]):
        result, expected = ours[key], numpys[key]
        pairs = zip(result, expected) if isinstance(expected, tuple) else [(result, expected)]
        for one, other in pairs:
            assert one.dtype == other.dtype
            assert np.array_equal(one, other)


def test_functions_of_numbers_alone_are_arrays_of_the_current_device():
    for name, operands in (("sqrt", (2.0,)), ("add", (2, True)), ("less", (2, 3)), ("exp", (1j,))):
        with device("interp"):
            result = getattr(xp, name)(*operands)
        expected = getattr(np, name)(*operands)
        assert (result.dtype, result.shape, result.device) == (expected.dtype, (), "interp")
        assert np.allclose(np.asarray(result), expected)


def test_methods_of_ufuncs_are_those_of_functions():
    one, other = xp.asarray(VECTOR), xp.asarray(MATRIX)
    assert np.array_equal(xp.subtract.outer(one, other), np.subtract.outer(VECTOR, MATRIX))
    assert np.array_equal(xp.add.reduce(other), np.add.reduce(MATRIX))
    assert np.array_equal(xp.maximum.reduce(other, 1), np.maximum.reduce(MATRIX, 1))
    assert np.array_equal(xp.add.accumulate(other, axis=1), np.add.accumulate(MATRIX, axis=1))
    with pytest.raises(TypeError, match="has no function for it"):
        xp.subtract.reduce(other)


def test_results_and_dtypes_are_given_by_position():
    out, rest = xp.zeros(4, np.int32), xp.zeros(4, np.int32)
    own = xp.asarray(VECTOR.astype(np.int32))
    assert xp.add(own, 1, out) is out
    assert np.array_equal(out, VECTOR + 1)
    xp.divmod(own, 3, out, rest)
    assert np.array_equal(out * 3 + rest, VECTOR)
    with pytest.raises(ValueError, match="out has 2 arrays"):
        xp.add(own, 1, out, rest)
    assert xp.full((2, 2), 3, np.int8).dtype == xp.array([1], np.int8).dtype == np.int8
    assert np.array_equal(xp.linspace(0, 1, 4, False), np.linspace(0, 1, 4, False))
    assert np.array_equal(xp.roll(xp.concat([own, own], 0), 1, 0), np.roll([*VECTOR] * 2, 1))


@pytest.mark.parametrize("shape", [(), (3,), (1, 3), (2, 3), (0, 3)])
def test_flags_and_strides_are_numpys(shape: tuple[int, ...]):
    for change in (lambda x: x, lambda x: x.T, lambda x: x[..., ::2] if x.ndim else x):
        array, own = change(np.zeros(shape)), change(xp.zeros(shape))
        for name in ("C_CONTIGUOUS", "F_CONTIGUOUS", "FORC", "FNC", "WRITEABLE"):
            assert own.flags[name] == array.flags[name]
            assert getattr(own.flags, name.lower()) == array.flags[name]
        if array.size > 1:
            assert own.strides == array.strides
    with pytest.raises(KeyError, match="Unknown flag"):
        xp.zeros(shape).flags["GET"]


def test_a_shape_is_assigned():
    x = xp.arange(6)
    view, double = x[...], x * 2
    x.shape = (2, -1)
    double.shape = 3, 2
    x[0] = 9
    assert view.tolist() == [9, 9, 9, 3, 4, 5]
    assert double.tolist() == [[0, 2], [4, 6], [8, 10]]
    turned = x.T
    with pytest.raises(AttributeError, match="needs a copy"):
        turned.shape = 6


def test_elements_are_copied_to_arrays():
    array, own = MATRIX.copy(), xp.asarray(MATRIX)
    np.copyto(array, VECTOR, casting="unsafe", where=array > 0)
    np.copyto(own, xp.asarray(VECTOR), casting="unsafe", where=own > 0)
    assert np.array_equal(own, array)
    with pytest.raises(TypeError, match="Cannot cast array data from float32 to int32"):
        xp.copyto(xp.zeros(4, dtype="int32"), own[0])


@pytest.mark.parametrize(
    ("attempt", "text"),
    [
        (lambda x: xp.einsum("ij,jk", x), "2 terms for 1 operands"),
        (lambda x: xp.einsum("ij,ij->ik", x, x), "of no operand"),
        (lambda x: xp.convolve(x[0], x[0, :0]), "cannot be empty"),
        (lambda x: xp.convolve(x, x), "too deep"),
        (lambda x: xp.gradient(x[:1], axis=0), "too small"),
        (lambda x: xp.gradient(x, np.arange(3), np.arange(5)), "must match"),
        (lambda x: xp.einsum("ijk", x), "has not 2 dimensions"),
        (lambda x: xp.einsum("ij,ji", x, x), "have the extents 4 and 3"),
        (lambda x: xp.einsum("i*", x), "invalid characters"),
        (lambda x: xp.split(x, 2), "equal division"),
        (lambda x: xp.pad(x, -1), "negative"),
        (lambda x: xp.pad(x, 1, mode="linear_ramp"), "not supported"),
        (lambda x: xp.linalg.norm(x[None], axis=(0, 1, 2)), "Improper number"),
    ],
)
def test_what_is_refused(attempt: Any, text: str):
    with pytest.raises(ValueError, match=text):
        attempt(xp.asarray(MATRIX))


def test_norms_are_numpys():
    for options in ({}, {"axis": 1}, {"ord": 1}, {"axis": (0, 1), "keepdims": True}):
        expected = np.linalg.norm(MATRIX, **options)
        result = xp.linalg.norm(xp.asarray(MATRIX), **options)
        assert result.shape == expected.shape
        assert np.allclose(result, expected)


def test_angles_in_degrees_are_numpys():
    for x in (np.array([1 + 1j, -2j]), np.array([-1.0, 2]), np.array([True, False]), CUBE):
        for deg in (False, True):
            result, expected = xp.angle(xp.asarray(x), deg), np.angle(x, deg)
            assert result.dtype == expected.dtype
            assert np.allclose(np.asarray(result), expected, rtol=1e-15)
    out = xp.zeros(2)
    assert xp.angle(xp.asarray([1j, -1j]), True, out=out) is out
    assert out.tolist() == [90, -90]
    xp.angle(xp.asarray([-1j, 1j]), True, out=out, where=xp.asarray([True, False]))
    assert out.tolist() == [-90, -90]


def test_numbers_alone_have_the_dtype_that_is_stated():
    result = xp.floor_divide(7, 2, dtype=np.float32)
    assert (result.dtype, result.item()) == (np.float32, 3)
    with pytest.raises(TypeError, match="cannot cast"):
        xp.add(1.5, 2, dtype=np.int32)


def test_rounding_has_the_dtypes_of_numpy():
    for x in (np.array([True, False]), np.array([15, -25], np.int8), np.array([0.125, 2.5])):
        for decimals in (-1, 0, 2) if x.dtype != bool else (0,):
            result, expected = xp.round(xp.asarray(x), decimals), np.round(x, decimals)
            assert result.dtype == expected.dtype
            assert np.array_equal(result, expected)
    assert xp.round(2.5).item() == 2
    out = xp.zeros(2)
    assert xp.round(xp.asarray([1.26, 2.5]), 1, out) is out
    with pytest.raises(TypeError, match="array of NumPy's"):
        xp.round(np.ones(2))
