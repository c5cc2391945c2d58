"""Wild indices of shared, local and constant memory end no process: on shaders they are those of
the last word, as accesses to buffers stay in them. The right elements are as before."""

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.cuda import int32

SHADERS = [each for each in ("vulkan", "opengl", "webgpu") if each in DEVICES]
WILD = 1 << 26, 1 << 30, -(1 << 26)
TABLE = np.arange(100, 164, dtype=np.int32)


@cuda.jit
def in_shared(out, at, dynamic):
    own = cuda.shared.array(64, int32)
    given = cuda.shared.array(0, int32)
    i = cuda.threadIdx.x
    own[i] = i
    given[i] = 2 * i
    cuda.syncthreads()
    own[at + i] += 1000
    given[at + i] += 1000
    cuda.atomic.add(own, at + i, 1000)
    cuda.syncthreads()
    out[i] = own[i] + given[i]


@cuda.jit
def in_local(out, at, table):
    own = cuda.local.array(16, int32)
    fixed = cuda.const.array_like(TABLE)
    i = cuda.threadIdx.x
    for n in range(16):
        own[n] = n
    own[at + 3] = 7
    out[i] = own[(at + i) % 64] + fixed[at + i] if at > 1 else own[3] + fixed[at + i]


@pytest.mark.parametrize("device", SHADERS)
@pytest.mark.parametrize("at", WILD)
@pytest.mark.parametrize("kernel", (in_shared, in_local), ids=("shared", "local"))
def test_the_process_lives(device, at, kernel):
    with gridlane.device(device):
        out = cuda.to_device(np.zeros(64, np.int32))
        kernel[1, 64, 0, 256](out, at, 0)
        assert out.copy_to_host().shape == (64,)


@pytest.mark.parametrize("device", SHADERS)
def test_the_elements_are_as_before(device):
    with gridlane.device(device):
        out = cuda.to_device(np.zeros(64, np.int32))
        in_shared[1, 64, 0, 256](out, 0, 0)
        assert (out.copy_to_host() == 3 * np.arange(64) + 3000).all()
        in_local[1, 64](out, 0, 0)
        assert (out.copy_to_host() == 7 + TABLE).all()
