"""Launches as before CUDA 4: a function keeps its block, its parameters and its shared memory."""

import struct

import numpy as np
from tests.abi.calling import cu, device_array, good, host_array, name
from tests.abi.kernels import TEXT

BAD = "CUDA_ERROR_INVALID_VALUE"


def test_launches_of_old_programs(primary):
    values = np.arange(300, dtype=np.uint32)
    module = good(cu.cuModuleLoadData(TEXT))
    x, scale = device_array(values), good(cu.cuModuleGetFunction(module, b"scale"))
    assert name(cu.cuLaunchGrid(scale, 3, 1)) == BAD  # nothing is set
    good(cu.cuFuncSetBlockShape(scale, 100, 1, 1))
    good(cu.cuFuncSetSharedSize(scale, 0))
    address = np.array([int(x)], np.uint64)
    good(cu.cuParamSetv(scale, 0, address, 8))
    good(cu.cuParamSetv(scale, 8, np.array([3], np.uint8), 1))
    good(cu.cuParamSeti(scale, 12, 5))
    good(cu.cuParamSeti(scale, 16, 300))
    assert name(cu.cuLaunchGrid(scale, 3, 1)) == BAD  # their size is not
    good(cu.cuParamSetSize(scale, 20))
    good(cu.cuLaunchGrid(scale, 3, 1))
    assert (host_array(x, values) == values * 5 + 3).all()
    good(cu.cuParamSetf(scale, 12, 1.0))
    stream = good(cu.cuStreamCreate(0))
    good(cu.cuLaunchGridAsync(scale, 1, 1, stream))
    first = struct.unpack("<I", struct.pack("<f", 1.0))[0]
    expected = values * 5 + 3
    expected[:100] = expected[:100] * np.uint32(first) + 3
    assert (host_array(x, values) == expected).all()
    good(cu.cuLaunch(scale))
    assert name(cu.cuParamSeti(scale, -4, 0)) == BAD
    assert name(cu.cuParamSetSize(scale, 1 << 20)) == BAD
    assert name(cu.cuFuncSetBlockShape(scale, 0, 1, 1)) == BAD
