"""What ``cuda.jit`` is given: options and functions of a wrong kind are refused in words."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane import cuda
from gridlane.cuda.kernels.jit_options import ACCEPTED


def plain(x):
    x[0] = 1


FLAGS = ("fma", "fastmath", "debug", "lineinfo", "cache", "forceinline", "lto", "nopython", "nogil")
WRONG = [
    *((name, value) for name in FLAGS for value in ("no", 2, 1.0, [True])),
    ("fastmath", {"nnan"}),
    *(("max_registers", value) for value in ("a", 1.5, True, (32,))),
    *(("launch_bounds", value) for value in ("x", 1.5, (1.5,), (128, None), {128})),
    *(("opt", value) for value in ("3", 4, -1, 0.5)),
    *(("extensions", value) for value in (5, [5], object())),
    *(("inline", value) for value in ("x", 3)),
    ("abi", 5),
    ("boundscheck", "no"),
    ("device", "no"),
    ("shared_memory_carveout", 1.5),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_options_of_wrong_types(number):
    name, value = WRONG[number]
    with pytest.raises(TypeError) as caught:
        cuda.jit(**{name: value})(plain)
    assert name in str(caught.value) and repr(value) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_registers", 0), ("max_registers", -3), ("launch_bounds", -1), ("launch_bounds", ())]
    + [("launch_bounds", (128, 0)), ("fp64", "no"), ("floats", "no")],
)
def test_options_out_of_range(name, value):
    with pytest.raises(ValueError, match=name):
        cuda.jit(**{name: value})(plain)


def test_options_that_are_right():
    flags = dict.fromkeys(FLAGS, np.True_)
    for options in (
        {**dict.fromkeys(FLAGS, None), **dict.fromkeys(ACCEPTED, None)},
        {**flags, "debug": False, "opt": 3, "max_registers": np.int32(32)},
        {"launch_bounds": [64, 2], "inline": "always", "abi": "c", "fma": 0},
    ):
        out = np.zeros(1)
        cuda.jit(plain, **options)[1, 1](out)
        assert out[0] == 1
    assert cuda.jit(fma=None)(plain).options.fma
    assert not cuda.jit(fma=False)(plain).options.fma


@pytest.mark.parametrize("what", [np.float32, int, 5, object(), {}, b"x", print, len, cuda.grid])
def test_what_is_no_function(what):
    with pytest.raises(TypeError, match=r"takes a Python function or signatures, got"):
        cuda.jit(what)
    with pytest.raises(TypeError, match=r"takes a Python function or signatures, got"):
        cuda.jit("void(float32[:])")(what)


def test_a_list_without_signatures():
    with pytest.raises(ValueError, match="empty list of signatures"):
        cuda.jit([])
