"""Linear algebra and Fourier transforms, beside NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import xp

RANDOM = np.random.default_rng(1)
MATRICES = RANDOM.standard_normal((2, 3, 3))
SQUARES = MATRICES @ MATRICES.swapaxes(-1, -2) + np.eye(3)
WIDE = RANDOM.standard_normal((2, 3, 4)) + 1j * RANDOM.standard_normal((2, 3, 4))

CALLS: list[tuple[str, tuple[np.ndarray, ...], dict[str, Any]]] = [
    ("cholesky", (SQUARES,), {"upper": True}),
    ("cross", (WIDE[0].T.real, MATRICES[0, :1]), {}),
    ("cross", (MATRICES, MATRICES[::-1]), {"axis": 1}),
    ("det", (MATRICES.astype("f4"),), {}),
    ("diagonal", (WIDE,), {"offset": 1}),
    ("diagonal", (WIDE,), {"offset": -2}),
    ("diagonal", (WIDE,), {"offset": -7}),
    ("eigh", (SQUARES,), {}),
    ("eigvalsh", (SQUARES,), {}),
    ("inv", (MATRICES,), {}),
    *[("matrix_norm", (WIDE,), {"ord": each}) for each in ("fro", "nuc", 1, -1, 2, -2, np.inf)],
    ("matrix_norm", (WIDE,), {"ord": -np.inf, "keepdims": True}),
    *[("matrix_power", (MATRICES, each), {}) for each in (0, 1, 5, -2)],
    ("matrix_rank", (MATRICES,), {}),
    ("outer", (MATRICES[0, 0], WIDE[0, 0]), {}),
    ("pinv", (WIDE,), {}),
    ("slogdet", (MATRICES,), {}),
    ("solve", (MATRICES, SQUARES), {}),
    ("svdvals", (WIDE,), {}),
    ("trace", (WIDE,), {"offset": 1}),
    *[("vector_norm", (WIDE,), {"ord": each}) for each in (0, 1, 2, 3, np.inf)],
    ("vector_norm", (WIDE,), {"axis": (0, 2), "keepdims": True, "ord": -np.inf}),
]


@pytest.mark.parametrize(("name", "operands", "options"), CALLS, ids=str)
def test_linear_algebra_is_numpys(name: str, operands: tuple[Any, ...], options: dict[str, Any]):
    expected = getattr(np.linalg, name)(*operands, **options)
    own = [xp.asarray(each) if isinstance(each, np.ndarray) else each for each in operands]
    result = getattr(xp.linalg, name)(*own, **options)
    if isinstance(expected, tuple):
        assert result._fields == expected._fields
    else:
        expected, result = (expected,), (result,)
    for one, other in zip(result, expected, strict=True):
        assert isinstance(one, xp.Array)
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert np.allclose(one, other, rtol=1e-4 if one.dtype == np.float32 else 1e-10)


def test_factors_multiply_to_the_matrices():
    own = xp.asarray(WIDE)
    left, values, right = xp.linalg.svd(own, full_matrices=False)
    assert np.allclose((left * values[:, None, :]) @ right, WIDE)
    factors = xp.linalg.qr(own)
    assert np.allclose(factors.Q @ factors.R, WIDE)
    values, vectors = xp.linalg.eig(xp.asarray(MATRICES))
    assert values.dtype == np.complex128
    assert np.allclose(xp.asarray(MATRICES + 0j) @ vectors, vectors * values[:, None, :])


@pytest.mark.parametrize("device", DEVICES)
def test_results_are_on_the_device_of_their_operands(device: str):
    own = xp.asarray(SQUARES.astype("f4"), device=device)
    for result in (xp.linalg.inv(own), xp.linalg.eigh(own)[1], xp.fft.fft(own)):
        assert result.device == device
    assert xp.fft.fftfreq(4, device=device).device == device


def test_matrices_that_are_refused():
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        xp.linalg.inv(xp.zeros((2, 2)))
    with pytest.raises(ValueError, match="square matrices"):
        xp.linalg.matrix_power(xp.zeros((2, 3)), 2)
    with pytest.raises(ValueError, match="no norm 'nothing'"):
        xp.linalg.matrix_norm(xp.zeros((2, 3)), ord="nothing")
    with pytest.raises(TypeError, match=r"copy others with xp\.asarray"):
        xp.linalg.inv(SQUARES)


TRANSFORMS: list[tuple[str, np.ndarray, dict[str, Any]]] = [
    *[(name, WIDE, {"axis": 1, "n": 5}) for name in ("fft", "ifft", "hfft", "irfft")],
    *[(name, MATRICES, {"norm": "ortho"}) for name in ("rfft", "ihfft")],
    *[(name, WIDE, {"s": (2, 5), "axes": (0, 2)}) for name in ("fftn", "ifftn", "irfftn")],
    ("rfftn", MATRICES, {}),
    ("fftshift", WIDE, {}),
    ("ifftshift", WIDE, {"axes": 1}),
]


@pytest.mark.parametrize(("name", "operand", "options"), TRANSFORMS, ids=str)
def test_transforms_are_numpys(name: str, operand: np.ndarray, options: dict[str, Any]):
    for host in (operand, operand.astype(np.result_type(operand.dtype, "f4"))):
        expected = getattr(np.fft, name)(host, **options)
        result = getattr(xp.fft, name)(xp.asarray(host), **options)
        assert result.dtype == expected.dtype
        assert np.allclose(result, expected, rtol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_frequencies_are_numpys(count: int):
    assert np.array_equal(xp.fft.fftfreq(count, d=0.5), np.fft.fftfreq(count, d=0.5))
    assert np.array_equal(xp.fft.rfftfreq(count), np.fft.rfftfreq(count))
    assert xp.fft.fftfreq(count, dtype="float32").dtype == np.float32
