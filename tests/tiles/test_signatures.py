"""Signatures of tile programs in text."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tiles import programs

from gridlane import tiles
from gridlane.core.argtypes import ArrayType, float16, float32, int32, uint8
from gridlane.core.errors import ArgumentError
from gridlane.tiles.signatures import program_of, shown

tl = tiles.language


@tiles.jit
def kernel(x, y, n, KIND: tl.constexpr, BLOCK: tl.constexpr = 64, scale=None):
    pass


def test_types_and_constants():
    program = program_of(kernel, "*fp32:16, *fp16, i32, tl.float16, num_warps=8")
    assert program.kernel.types == (
        ArrayType(float32, 1, "A"),
        ArrayType(float16, 1, "A"),
        int32,
    )
    assert program.source.constants == {"KIND": tl.float16, "BLOCK": 64, "scale": None}
    assert program.source.aligned == {"x": 16} and program.source.warps == 8
    assert shown(program) == (
        "*fp32:16",
        "*fp16",
        "i32",
        "KIND=triton.language.float16",
        "BLOCK=64",
        "scale=None",
    )


def test_constants_of_all_kinds():
    program = program_of(kernel, "*fp8e5, y=None, n=i32:1, KIND='a, b', BLOCK=(1, -2), scale=2.5")
    assert program.kernel.types == (ArrayType(uint8, 1, "A"),)
    assert program.source.elements == {"x": tl.float8e5}
    assert program.source.constants == {
        "y": None,
        "n": 1,
        "KIND": "a, b",
        "BLOCK": (1, -2),
        "scale": 2.5,
    }


def test_descriptors():
    program = program_of(programs.copy_block, "tensordesc<fp16[4, 8]>, tensordesc<fp16[4,8]>, 2")
    assert program.source.blocks["source"].shape == (4, 8)
    assert program.kernel.types[0] == ArrayType(float16, 2, "A")
    assert program.kernel.module.kernel.name == "copy_block"


def test_a_signature_is_that_of_a_launch():
    """The same code as of a launch with such arguments: their keys are the same."""
    x = np.zeros(64, np.float32)
    launched = programs.add[(1,)](x, x, x, 64, BLOCK=32)
    aligned = ":16" if x.ctypes.data % 16 == 0 else ""
    text = f"*fp32{aligned}, *fp32{aligned}, *fp32{aligned}, i32:16, BLOCK=32"
    assert program_of(programs.add, text).source.key() == launched.program.source.key()


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("*fp32", "no type of y; the parameters are x, y, n, KIND, BLOCK, scale"),
        ("*fp33, *fp32, i32, 1", "fp33 is no type"),
        ("*fp32, *fp32, i32, i32", "KIND is a constant: give its value, as in KIND=128"),
        ("*fp32, *fp32, i32, constexpr", "KIND is a constant"),
        ("*fp32, *fp32, i32, 1, 2, 3, 4", "'4' is one too many"),
        ("*fp32, *fp32, i32, 1, M=3", "there is no parameter 'M'"),
        ("*fp32, *fp32, i32, 1, x=*fp32", "x is given twice"),
        ("*fp32:8, *fp32, i32, 1", "what is known of an argument is :1 or :16"),
        ("foo, *fp32, i32, 1", "x: 'foo' is no type"),
        ("*fp32, *fp32, i32, 1, num_warps=3", "num_warps must be a power of 2"),
        ("*i7, *fp32, i32, 1", "int7 is no type"),
    ],
)
def test_what_is_wrong(signature, message):
    with pytest.raises((ArgumentError, AssertionError), match=message):
        program_of(kernel, signature)
