"""Launches of kernels whose parameters have tensor maps: the driver encodes them."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from tests.runtime.cuda.test_tile_launches import Tensor, slow  # noqa: F401  # a fixture

from gridlane import cuda, tiles
from gridlane.compiler import cuda as compiler
from gridlane.core.dtypes import u64
from gridlane.core.errors import DeviceError
from gridlane.core.tensor_map import SIZE, Element, TensorMap, TensorMapUse
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Param, Value
from gridlane.tiles.descriptors import TensorDescriptor

tl = tiles.language
BOX = (8, 32)


def shifted(source, target, at):
    target.store([0, 0], source.load([at, 0]))


@pytest.fixture
def kernel(slow, monkeypatch):  # noqa: F811
    """A program whose code has a map of its first descriptor, where one describes it."""
    own = compiler._emit

    def emit(module, *rest):
        params = module.kernel.params
        if params[0].mapped:
            value = Value(pointer(u64, Space.GENERIC), name="map")
            use = TensorMapUse(0, (1, 2), (3,), Element.F16, BOX, 64, False, len(params))
            params.append(Param(value, 0, ("map",), by_value=SIZE))
            module.tensor_maps = (use,)
        return own(module, *rest)

    monkeypatch.setattr(compiler, "_emit", emit)
    return tiles.jit(shifted)


def array(machine, *shape):
    made = cuda.to_device(np.zeros(shape, np.float16))
    return made, made.__cuda_array_interface__["data"][0]


def encodings(machine):
    return [each for each in machine.calls if each == "cuTensorMapEncodeTiled"]


@pytest.mark.parametrize("wrap", [lambda array: array, Tensor])
def test_known_launches_have_maps(machine, slow, kernel, wrap):  # noqa: F811
    x, first = array(machine, 64, 64)
    y, second = array(machine, 64, 64)
    out, _ = array(machine, 64, 64)

    def call(source, rows=64, columns=64):
        described = TensorDescriptor(wrap(source), [rows, columns], [64, 1], [8, 32])
        target = TensorDescriptor(wrap(out), [64, 64], [64, 1], [8, 32])
        kernel[(2,)](described, target, 4)
        params = machine.launches[-1].params
        return TensorMap.decode(params[-SIZE:])

    wanted = TensorMap(first, Element.F16, (64, 64), (128,), (32, 8), (1, 1), 2)
    assert call(x) == wanted and slow == ["shifted"]
    slow.clear()
    machine.clear_log()
    assert call(x) == wanted and not slow
    assert len(encodings(machine)) == 1
    assert call(x) == wanted and len(encodings(machine)) == 1
    assert call(y).address == second and call(x) == wanted and len(encodings(machine)) <= 3
    assert call(x, rows=60, columns=40).extents == (40, 60)
    assert not slow or slow == ["shifted"]  # where the last extent is no multiple of 16


def test_arrays_that_no_map_describes_have_other_code(machine, slow, kernel):  # noqa: F811
    x, _ = array(machine, 64, 64)
    out, _ = array(machine, 64, 64)
    target = TensorDescriptor(out, [64, 64], [64, 1], [8, 32])
    sizes = []
    for shape, strides, start in (
        ([64, 64], [64, 1], 0),
        ([0, 64], [64, 1], 0),
        ([64, 0], [64, 1], 0),
        ([64, 60], [60, 1], 0),
        ([60, 64], [64, 1], 4),
        ([64, 64], [0, 1], 0),
        ([64, 64], [64, 1], 0),
    ):
        base = x.reshape(-1)[start:]
        for _ in range(2):
            kernel[(2,)](TensorDescriptor(base, shape, strides, [8, 32]), target, 4)
            sizes.append(len(machine.launches[-1].params))
    (whole, *_), less = sizes, sizes[2]
    assert sizes == [whole] * 2 + [less] * 10 + [whole] * 2 and whole > less + SIZE - 64


def test_refusals_of_the_driver_are_errors(machine, slow, kernel):  # noqa: F811
    x, _ = array(machine, 64, 64)
    source, target = (TensorDescriptor(x, [64, 64], [64, 1], [8, 32]) for _ in range(2))
    machine.fail("cuTensorMapEncodeTiled", 1)
    with pytest.raises(DeviceError, match="cuTensorMapEncodeTiled"):
        kernel[(2,)](source, target, 4)
    kernel[(2,)](source, target, 4)
    kernel[(2,)](source, target, 4)
    y, address = array(machine, 64, 64)
    slow.clear()
    count = len(machine.launches)
    machine.fail("cuTensorMapEncodeTiled", 1)
    kernel[(2,)](TensorDescriptor(y, [64, 64], [64, 1], [8, 32]), target, 4)
    assert slow == ["shifted"] and len(machine.launches) == count + 1
    assert struct.unpack_from("<Q", machine.launches[-1].params[-SIZE:])[0] == address
