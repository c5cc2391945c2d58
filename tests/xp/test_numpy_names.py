"""Functions of NumPy's that the standard lacks, beside NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gridlane import xp

RANDOM = np.random.default_rng(2)
VECTOR = RANDOM.integers(-9, 9, 4).astype(np.float64)
MATRIX = RANDOM.integers(-9, 9, (3, 4)).astype(np.float32)
CUBE = RANDOM.integers(-9, 9, (2, 3, 4))
ODD = np.array([np.nan, np.inf, -np.inf, 1.0, 1.0 + 1e-9, 0.0])

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("append", (MATRIX, MATRIX), {"axis": 1}),
    ("append", (MATRIX, VECTOR), {}),
    ("array_split", (VECTOR, 3), {}),
    ("atleast_1d", (np.array(3.0), VECTOR), {}),
    ("atleast_2d", (VECTOR,), {}),
    ("column_stack", ([VECTOR, VECTOR],), {}),
    ("copy", (MATRIX,), {}),
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
    ("einsum", ("bij,bjk,kl->bil", CUBE, CUBE.swapaxes(1, 2), MATRIX.astype(int)), {}),
    ("einsum", ("i->", VECTOR), {}),
    ("einsum", ("bi,bi->b", MATRIX, MATRIX[:, :1]), {}),
    ("fliplr", (MATRIX,), {}),
    ("flipud", (MATRIX,), {}),
    ("hsplit", (MATRIX, [1, 3]), {}),
    ("hstack", ([MATRIX, MATRIX],), {}),
    ("hstack", ([VECTOR, VECTOR],), {}),
    ("identity", (3,), {}),
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
    result = getattr(xp, name)(*map(placed, operands), **options)
    is_several = isinstance(expected, (list, tuple)) and isinstance(expected[0], np.ndarray)
    pairs = zip(result, expected, strict=True) if is_several else [(result, expected)]
    for one, other in pairs:
        if not isinstance(other, (np.ndarray, np.generic)):
            assert type(one) is type(other)
        else:
            assert isinstance(one, xp.Array)
            assert one.dtype == other.dtype
            assert one.shape == other.shape
        assert np.allclose(np.asarray(one), other, rtol=1e-14, atol=0, equal_nan=True)


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
