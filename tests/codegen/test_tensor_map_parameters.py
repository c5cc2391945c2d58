"""Tensor maps that are parameters of a kernel: each device encodes them for a launch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.codegen.test_nvptx import PTXAS, checked_by_ptxas, ptx_of

from gridlane import cuda
from gridlane.compiler.generation import copied
from gridlane.conformance.compiling import compiled
from gridlane.conformance.kernels import Kernel
from gridlane.conformance.module_runner import run_on
from gridlane.core.dtypes import i32, i64, u8, u32, u64
from gridlane.core.errors import DeviceError, TargetError, VerifyError
from gridlane.core.options import KernelOptions
from gridlane.core.tensor_map import SIZE, Element, TensorMap, TensorMapUse, fits
from gridlane.ir.ops import memory, tensors
from gridlane.ir.ops.mbarriers import MbarrierArrive, MbarrierInit, MbarrierPassed
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.source import ModuleSource
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Global, Module
from gridlane.ir.verifier import verify
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.launch.kernel import Kernel as Launched
from gridlane.runtime.tensor_maps import TensorMaps

BOX = (4, 8)
USE = TensorMapUse(1, (2, 3), (4,), Element.I32, BOX, 32, False, 7)


def copies() -> Module:
    """A box of a tensor, as it lies in shared memory, by a map that the launch makes."""
    kernel = Kernel()
    b = kernel.builder
    out, _ = kernel.array(u32), kernel.array(i32)
    for _ in range(3):
        kernel.param(i64)
    x, y = kernel.param(i32), kernel.param(i32)
    map_ = kernel.param(pointer(u64, Space.GENERIC))
    kernel.function.params[-1].by_value = SIZE
    kernel.module.tensor_maps = (USE,)
    kernel.module.globals["box"] = Global("box", u32, 32, Space.SHARED, 256)
    kernel.module.globals["bar"] = Global("bar", u64, 1, Space.SHARED, 8)
    box = b.value(memory.GlobalAddress("box", pointer(u32, Space.SHARED)))
    bar = b.value(memory.GlobalAddress("bar", pointer(u64, Space.SHARED)))
    with b.if_(b.eq(kernel.local, b.const(0, i32))):
        b.emit(MbarrierInit(bar, b.const(1, u32)))
        b.emit(tensors.ProxyFence())
        b.emit(MbarrierArrive(bar, b.const(1, u32), b.const(128, u32), True))
        b.emit(tensors.TensorLoad(b.recast(box, pointer(u8, Space.SHARED)), map_, bar, (x, y)))
        with b.loop():
            b.break_if(b.value(MbarrierPassed(bar, b.const(0, u32), True, True)))
        for n in range(32):
            place = b.const(n, i64)
            b.store(b.offset(out, place), b.load(b.offset(box, place)))
    verify(kernel.module)
    return kernel.module


def arranged(given: np.ndarray, x: int, y: int) -> np.ndarray:
    """The words of the box, whose swizzle changes places in the second 128 bytes alone."""
    padded = np.zeros((given.shape[0] + 16, given.shape[1] + 16), given.dtype)
    padded[8:-8, 8:-8] = given
    return padded[y + 8 : y + 12, x + 8 : x + 16].reshape(-1).view(np.uint32)


@pytest.mark.parametrize("place", [(0, 0), (-4, 2), (8, 7)])
@pytest.mark.parametrize("device", ["interp", "cpu", "the device interp"])
def test_devices_encode_maps(device: str, place: tuple[int, int]) -> None:
    given = np.arange(11 * 16, dtype=np.int32).reshape(11, 16)
    arrays = [np.zeros(32, np.uint32), given]
    where: Any = get_device("interp") if device.startswith("the") else device
    got = run_on(where, copies(), (1, 1, 1), (1, 1, 1), arrays, (11, 14, 64, *place))
    assert not got.raised
    np.testing.assert_array_equal(got.arrays[0], arranged(given[:, :14], *place))


def test_ptx_takes_the_address_of_a_parameter(tmp_path: Path) -> None:
    text = ptx_of(copies(), "sm_90a")
    assert ".param .align 64 .b8 kernel_param_7[128]" in text
    assert "cvta.param.u64" in text and ".local" not in text
    if PTXAS is not None:
        checked_by_ptxas([text], "sm_90a", tmp_path)
    given = np.arange(11 * 16, dtype=np.int32).reshape(11, 16)
    for device in ("interp", "cpu"):
        current.choose(get_device(device))
        out, array = cuda.to_device(np.zeros(32, np.uint32)), cuda.to_device(given)
        numbers = np.int64(11), np.int64(14), np.int64(64), np.int32(-4), np.int32(2)
        map_ = TensorMap(array.address, Element.I32, (14, 11), (64,), BOX[::-1], (1, 1), 1)
        kernel = cuda.RawModule(code=text).get_function("kernel")
        kernel((1,), (1,), (out, array, *numbers, np.frombuffer(map_.encode(), np.uint8)))
        np.testing.assert_array_equal(out.copy_to_host(), arranged(given[:, :14], -4, 2))


def test_the_text_of_a_module_has_its_maps() -> None:
    module = copies()
    text = print_module(module)
    assert "by_value=128" in text
    again = parse_module(text)
    assert again.tensor_maps == (USE,) and print_module(again) == text
    assert copied(module).tensor_maps == (USE,)
    assert print_module(copied(module)) == text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parameter": 6}, "has 0 bytes by value"),
        ({"parameter": 8}, "others than there are"),
        ({"base": 2}, "is of no pointer"),
        ({"base": 7}, "is of no pointer"),
        ({"strides": ()}, "extents and strides"),
        ({"strides": (5,)}, "of the types"),
        ({"box": (4, 257)}, "has the box"),
        ({"box": (4, 3)}, "rows of 12 bytes"),
        ({"box": (4, 16)}, "longer than its swizzle"),
        ({"swizzle": 16}, "a swizzle of 16"),
        ({"nan": True}, "integers that are NaN"),
    ],
)
def test_invalid_maps_are_refused(changes: dict[str, Any], message: str) -> None:
    module = copies()
    module.tensor_maps = (replace(USE, **changes),)
    with pytest.raises(VerifyError, match=message):
        verify(module)


def test_what_is_passed_by_value_is_a_generic_pointer() -> None:
    module = copies()
    module.kernel.params[1].by_value = SIZE
    with pytest.raises(VerifyError, match="generic pointer"):
        verify(module)


@pytest.mark.parametrize("target", ["vulkan", "webgpu", "opengl", "metal"])
def test_shaders_refuse_parameters_by_value(target: str) -> None:
    from gridlane.backends import backend
    from gridlane.compiler import pipeline

    with pytest.raises(TargetError, match="passed by value"):
        pipeline.run(copies(), backend(target))


def test_maps_are_encoded_again_where_numbers_change() -> None:
    device = get_device("cpu")
    source = ModuleSource(copies())
    plan = Launched(source, (), KernelOptions(), compiled).plan((1, 1, 1), device=device)
    artifact = plan.kernel.artifact
    assert artifact.tensor_maps == (USE,) and len(plan.parameters.slots) == 7
    encoded: list[TensorMap] = []

    def encode(map_: TensorMap) -> bytes:
        encoded.append(map_)
        return map_.encode()

    maps, offset = TensorMaps(artifact, encode), artifact.params[7].offset
    assert offset % 64 == 0 and artifact.param_bytes == offset + SIZE
    for address in (4096, 4096, 8192, 8192):
        block = plan.pack(64, address, 11, 14, 64, 0, 0)
        full = maps.filled(block)
        assert full[:offset] == block[:offset]
        assert TensorMap.decode(full[offset:]).address == address
    assert [each.address for each in encoded] == [4096, 8192]
    assert encoded[0] == TensorMap(4096, Element.I32, (14, 11), (64,), (8, 4), (1, 1), 1)
    for numbers in ((4104, 11, 14, 64), (4096, 0, 14, 64), (4096, 11, 14, 60)):
        assert not fits(numbers[0], numbers[1:3], numbers[3:])
        with pytest.raises(DeviceError, match="the code is for tensor maps"):
            maps.filled(plan.pack(64, *numbers, 0, 0))
    assert len(encoded) == 2
