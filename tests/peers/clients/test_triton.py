"""Triton's PTX through the driver's interface, with packed parameters, against numpy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.abi.calling import cu, device_array, good, host_array
from tests.peers.corpus.packages import Absent, Text
from tests.peers.corpus.programs import pairs, same, variants
from tests.peers.corpus.triton_programs import PROGRAMS

from gridlane.frontends.ptx import parse_ptx
from gridlane.frontends.ptx.types import TYPES
from gridlane.launch import current
from gridlane.launch.devices import get_device

_BUFFER, _SIZE, _END = 1, 2, 0
"""CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE and _END of cuda.h."""
_MOST_STATIC = 48 << 10
"""Bytes of shared memory beyond which a program asks for more than is usual."""


@pytest.fixture
def context():
    current.choose(get_device("cpu"))
    good(cu.cuInit(0))
    made = good(cu.cuCtxCreate(None, 0, 0))
    yield made
    good(cu.cuCtxDestroy(made))


def launcher(text: Text) -> Callable[..., None]:
    """What launches a text's kernel: arrays go to the device and come back."""
    module = good(cu.cuModuleLoadData(text.ptx.encode()))
    name = text.meta["entry"]
    function = good(cu.cuModuleGetFunction(module, name.encode()))
    if text.meta["shared"] > _MOST_STATIC:
        what = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        good(cu.cuFuncSetAttribute(function, what, text.meta["shared"]))
    params = parse_ptx(text.ptx).functions[name].params

    def launch(grid: int | tuple[int, ...], *args: Any) -> None:
        arrays = {n: each for n, each in enumerate(args) if isinstance(each, np.ndarray)}
        addresses = {n: device_array(each) for n, each in arrays.items()}
        spare = (0,) * (len(params) - len(args))  # addresses of scratch memory
        packed = bytearray()
        for number, (param, value) in enumerate(zip(params, (*args, *spare), strict=True)):
            dtype = TYPES[param.type]
            packed += bytes(-len(packed) % dtype.size)
            value = addresses.get(number, value)
            kind = f"f{dtype.size}" if dtype.is_float else f"i{dtype.size}"
            packed += np.asarray(value).astype(kind).tobytes()
        start = ctypes.create_string_buffer(bytes(packed), len(packed))
        size = ctypes.c_size_t(len(packed))
        extra = (ctypes.c_void_p * 5)(
            *(_BUFFER, ctypes.addressof(start), _SIZE, ctypes.addressof(size), _END)
        )
        blocks = (*((grid,) if isinstance(grid, int) else grid), 1, 1)[:3]
        threads = text.meta["block"], 1, 1
        shared = text.meta["shared"]
        good(cu.cuLaunchKernel(function, *blocks, *threads, shared, 0, 0, ctypes.addressof(extra)))
        for number, each in arrays.items():
            each[...] = host_array(addresses[number], each)
            good(cu.cuMemFree(addresses[number]))

    return launch


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=[each.name for each in PROGRAMS])
def test_a_packed_launch(number: int, context: Any) -> None:
    try:
        (text,) = [each for each in variants(PROGRAMS[number]) if each.variant == "sm_80"]
    except Absent as error:
        pytest.skip(str(error))
    np.random.seed(3)
    got, want, *near = PROGRAMS[number].run(launcher(text))
    for one, other in pairs(got, want):
        assert same(np.asarray(one), np.asarray(other), near[0] if near else 0)
