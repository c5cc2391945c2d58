"""Floats of 8 bits as arguments, and arrays that are read as another type."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import gridlane
from gridlane import tiles
from gridlane.tiles.descriptors import TensorDescriptor

tl = tiles.language
KINDS = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz]


@pytest.fixture(params=["interp", "cpu"])
def device(request):
    with gridlane.device(request.param):
        yield request.param


@tiles.jit
def copy(source, out, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(out + at, tl.load(source + at))


@tiles.jit
def copy_described(source, out, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(out + at, source.load([0, 0]).reshape(SIZE))


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_narrow_floats(device, kind):
    values = np.random.default_rng(1).uniform(-4, 4, 64).astype(kind)
    wide, back = np.zeros(64, np.float32), np.zeros(64, kind)
    copy[(1,)](values, wide, SIZE=64)
    assert (wide == values.astype(np.float32)).all()
    copy[(1,)](wide, back, SIZE=64)
    assert (back.view(np.uint8) == values.view(np.uint8)).all()


def test_types_of_narrow_floats_have_code_of_their_own(device):
    codes = np.arange(64, dtype=np.uint8)
    for kind in KINDS:
        wide = np.zeros(64, np.float32)
        copy[(1,)](codes.view(kind), wide, SIZE=64)
        assert (wide == codes.view(kind).astype(np.float32)).all()
    copy[(1,)](codes, wide, SIZE=64)
    assert (wide == codes).all()


def test_descriptors_of_arrays_that_are_read_as_another_type(device):
    numbers = np.arange(-32, 32, dtype=np.int16).reshape(4, 16)
    wide = np.zeros(64, np.float32)
    base = tiles.reinterpret(numbers, tl.uint16)
    copy_described[(1,)](TensorDescriptor(base, [4, 16], [16, 1], [4, 16]), wide, SIZE=64)
    assert (wide == numbers.view(np.uint16).ravel()).all()
    narrow = np.arange(64, dtype=np.uint8).reshape(4, 16).view(KINDS[0])
    copy_described[(1,)](TensorDescriptor(narrow, [4, 16], [16, 1], [4, 16]), wide, SIZE=64)
    assert (wide == narrow.astype(np.float32).ravel()).all()


def test_narrow_floats_that_are_read_as_others(device):
    codes = np.arange(64, dtype=np.uint8)
    wide = np.zeros(64, np.float32)
    copy[(1,)](tiles.reinterpret(codes.view(KINDS[0]), tl.float8e5), wide, SIZE=64)
    assert (wide == codes.view(ml_dtypes.float8_e5m2).astype(np.float32)).all()


def test_floats_that_no_library_has(device):
    codes = np.arange(64, dtype=np.uint8)
    wide, back = np.zeros(64, np.float32), np.zeros(64, np.int8)
    copy[(1,)](tiles.reinterpret(codes, tl.float8e4b15), wide, SIZE=64)
    assert (wide == (codes.astype(np.uint16) << 7).view(np.float16)).all()
    copy[(1,)](wide, tiles.reinterpret(back, tl.float8e4b15), SIZE=64)
    assert (back == codes).all()


def test_types_of_numpy(device):
    halves = np.arange(64, dtype=np.float16)
    wide = np.zeros(64, np.float32)
    for _ in range(2):  # by the slow path, and by a native launch where there is one
        wide[:] = 0
        copy[(1,)](tiles.reinterpret(halves.view(np.int16), np.dtype(np.float16)), wide, SIZE=64)
        assert (wide == halves).all()
    codes = np.arange(64, dtype=np.uint8)
    for kind in KINDS[:2]:
        copy[(1,)](tiles.reinterpret(codes, np.dtype(kind)), wide, SIZE=64)
        assert (wide == codes.view(kind).astype(np.float32)).all()


class Tensor:
    """What wrappers need of torch's tensors to make others."""

    def __init__(self, size: int) -> None:
        self.size, self.data = size, "data"

    def new_empty(self, size: int) -> Tensor:
        return Tensor(size)

    def element_size(self) -> int:
        return 1


def test_wrappers_make_others_of_their_type():
    wrapper = tiles.TensorWrapper(Tensor(4), tl.float8e5)
    other = wrapper.new_empty(9)
    assert (other.base.size, other.dtype) == (9, tl.float8e5)
    assert wrapper.element_size() == 1
    assert wrapper.data == "data"
    wrapper.data = "other"
    assert (wrapper.data, wrapper.base.data) == ("other", "data")


@tiles.jit
def round_doubles(source, out, ROUNDING: tl.constexpr):
    at = tl.arange(0, 64)
    code = tl.load(source + at).to(tl.float8e4nv, fp_downcast_rounding=ROUNDING)
    tl.store(out + at, code.to(tl.uint8, bitcast=True))


def test_doubles_are_rounded_once(device):
    """Beside ties of 4 bits, which float32 rounds to the tie; below numbers, to the number."""
    ties = (8 + np.arange(8) + 0.5) / 8
    near = np.concatenate([ties * (1 + 2.0**-40), ties * (1 - 2.0**-40)])
    below = (8 + np.arange(8)) / 8 * (1 - 2.0**-40)
    source = np.resize(np.concatenate([near, below]), 64)
    out = np.zeros(64, np.uint8)
    round_doubles[(1,)](source, out, ROUNDING="rtne")
    steps = 0x38 + np.arange(8)
    assert (out == np.resize([*(steps + 1), *steps, *steps], 64)).all()
    round_doubles[(1,)](source, out, ROUNDING="rtz")
    assert (out == np.resize([*steps, *steps, *(steps - 1)], 64)).all()
