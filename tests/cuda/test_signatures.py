"""Signatures as text and objects, and what fits what."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.core.errors import ArgumentError
from gridlane.cuda.kernels.signatures import Conversion, conversion, parse
from gridlane.cuda.types import (
    Tuple,
    boolean,
    complex64,
    float32,
    float64,
    int8,
    int32,
    int64,
    void,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("void(float32[:,:], int32)", "none(array(float32, 2d, A), int32)"),
        ("(f4[:], i8)", "None(array(float32, 1d, A), int64)"),
        ("(f4[::1, :], b1)", "None(array(float32, 2d, F), bool)"),
        ("int32(types.float64, numba.intp)", "int32(float64, int64)"),
        ("void()", "none()"),
        ("(i4,)", "None(int32)"),
        ("(i4)", "None(int32)"),
        (
            "void(UniTuple(i8, 2), c16[:, ::1])",
            "none(Tuple(int64, int64), array(complex128, 2d, C))",
        ),
        (void(int32, float64[:]), "none(int32, array(float64, 1d, A))"),
        ((int32, float64), "None(int32, float64)"),
    ],
)
def test_parse(text, expected):
    assert str(parse(text)) == expected


@pytest.mark.parametrize("text", ["void(float33)", "void(", "void(x + 1)", "(i4[3],)", (3,), 7])
def test_bad_signatures(text):
    with pytest.raises(TypeError):
        parse(text)


@pytest.mark.parametrize("signature", ["void(i4[2, 3])", (int32[2, 3],), void(int32[2, 3])])
def test_a_fixed_shape_is_refused(signature):
    with pytest.raises(TypeError, match=r"int32\[2, 3\] in a signature.* is int32\[:, :\]"):
        parse(signature)


@pytest.mark.parametrize(
    ("have", "want", "rank"),
    [
        (int32, int32, Conversion.EXACT),
        (int32, int64, Conversion.PROMOTE),
        (int32, float64, Conversion.SAFE),
        (int64, int32, Conversion.UNSAFE),
        (float64, float32, Conversion.UNSAFE),
        (boolean, int8, Conversion.SAFE),
        (float32, int64, None),
        (complex64, float64, None),
        (float32[::1], float32[:], Conversion.SAFE),
        (float32[:], float32[::1], None),
        (float32[::1], float64[::1], None),
        (float32[:, ::1], float32[::1, :], None),
        (Tuple((int32, float32)), Tuple((int64, float32)), Conversion.PROMOTE),
        (float32[::1], float32, None),
    ],
)
def test_conversions(have, want, rank):
    assert conversion(have, want) == rank


@pytest.mark.parametrize(
    ("signature", "value", "want"),
    [
        ("uint64", -1, 2**64 - 1),
        ("uint64", 2**64 - 2, 2**64 - 2),
        ("int64", 2**63, -(2**63)),
        ("int64", 2**64 - 1, -1),
        ("uint8", -1, 255),
        ("int16", 40000, 40000 - 65536),
        ("int32", np.True_, 1),
    ],
)
def test_an_integer_wraps_to_the_type_of_a_signature(signature, value, want):
    def store(x, n):
        x[0] = n

    kernel = cuda.jit(f"void(uint64[::1], {signature})")(store)
    x = np.zeros(1, np.uint64)
    for _ in range(2):
        kernel[1, 1](x, value)
    assert x[0] == want % 2**64
    kernel[1, 1](x, 1)
    assert x[0] == 1


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_one_signature_takes_arrays_of_the_other_sign(device):
    @cuda.jit("void(int32[:], uint32[:])")
    def halve(out, x):
        i = cuda.grid(1)
        out[i] = -1 if x[i] > 5 else int32(x[i])

    out, x = np.zeros(3, np.uint32), np.array([-1, 3, 2], np.int32)
    with gridlane.device(device):
        halve[1, 3](out, x)
    assert out.tolist() == [2**32 - 1, 3, 2]
    with pytest.raises(ArgumentError, match="takes array"):
        halve[1, 3](np.zeros(3, np.float32), x)
    with pytest.raises(ArgumentError, match="takes array"):
        halve[1, 3](np.zeros(3, np.int64), x)
