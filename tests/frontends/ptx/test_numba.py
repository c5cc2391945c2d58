"""Random kernels in Python by numba-cuda's PTX do what plain Python does.

numba-cuda and libnvvm compile without a GPU. Nothing of frontends/python takes part.
"""

from __future__ import annotations

import linecache
import math

import numpy as np
import pytest
from tests.property import python_oracle
from tests.property.python_kernels import BLOCK, GRID, Program
from tests.property.test_python_kernels import program_of

from gridlane.core.options import KernelOptions
from gridlane.frontends.ptx import PtxSource, parse_ptx
from gridlane.launch.devices import get_device
from gridlane.launch.kernel import Kernel

ALONE = [n for n in range(1000, 1040) if "device=True" not in program_of(n, "cpu").source]
"""numba asks the driver for the generation of a GPU where a kernel calls a function."""


def ptx_of(program: Program, seed: int) -> str:
    """numba-cuda's PTX of a kernel."""
    numba = pytest.importorskip("numba")
    cuda = pytest.importorskip("numba.cuda")
    text = "\n" + program.source.replace("@cuda.jit(OPTIONS)\ndef k", "def k")
    name = f"<numba's kernel {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    namespace = {"cuda": cuda, "np": np, "math": math}
    exec(compile(text, name, "exec"), namespace)
    types = tuple(numba.typeof(array) for array in program.arrays(seed))
    return cuda.compile_ptx(namespace["k"], types, device=False, cc=(8, 0))[0]


@pytest.mark.parametrize("seed", ALONE[:6])
def test_a_random_kernel_by_numba(seed):
    program = program_of(seed, "cpu")
    module = parse_ptx(ptx_of(program, seed))
    source = PtxSource(module, module.entries[0])
    wanted = program.arrays(seed)
    python_oracle.run(program.source, wanted, GRID, BLOCK)
    for device in ("interp", "cpu"):
        for got, want in zip(launched(device, source, program.arrays(seed)), wanted, strict=True):
            assert (got.view(f"u{got.itemsize}") == want.view(f"u{want.itemsize}")).all(), (
                f"{device}\n{program.source}"
            )


def launched(device: str, source: PtxSource, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The arrays after the kernel. numba passes an array as its owner, its size, the size of an
    element, its data, shape and strides."""
    opened = get_device(device)
    plan = Kernel(source, (), KernelOptions(fp64="exact")).plan((BLOCK, 1, 1), device=opened)
    values: list[int] = []
    buffers = [opened.allocate(array.nbytes) for array in arrays]
    for buffer, array in zip(buffers, arrays, strict=True):
        opened.upload(buffer.address, array.view(np.uint8).data)
        values += [0, 0, array.size, array.itemsize, buffer.address, *array.shape, *array.strides]
    plan.launch((GRID, 1, 1), plan.pack(*values))
    opened.default_stream.synchronize()
    for buffer, array in zip(buffers, arrays, strict=True):
        opened.download(array.view(np.uint8).data, buffer.address)
    return arrays
