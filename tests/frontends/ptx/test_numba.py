"""Random kernels in Python by numba-cuda's PTX do what plain Python does.

numba-cuda and libnvvm compile without a GPU. Nothing of frontends/python takes part.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.property import python_oracle
from tests.property.python_kernels import BLOCK, GRID
from tests.property.test_python_kernels import program_of

from gridlane.core.options import KernelOptions
from gridlane.frontends.ptx import PtxSource, parse_ptx
from gridlane.launch.devices import get_device
from gridlane.launch.kernel import Kernel

ALONE = [n for n in range(1000, 1040) if "device=True" not in program_of(n, "cpu").source]
"""numba asks the driver for the generation of a GPU where a kernel calls a function."""


_COMPILE = """
import linecache, math, sys
import numba, numba.cuda
import numpy as np
from tests.property.test_python_kernels import program_of

seed = int(sys.argv[1])
program = program_of(seed, "cpu")
text = program.source.replace("@cuda.jit(OPTIONS)\\ndef k", "def k")
linecache.cache["kernel"] = len(text), None, text.splitlines(keepends=True), "kernel"
namespace = {"cuda": numba.cuda, "np": np, "math": math}
exec(compile(text, "kernel", "exec"), namespace)
types = tuple(numba.typeof(array) for array in program.arrays(seed))
print(numba.cuda.compile_ptx(namespace["k"], types, device=False, cc=(8, 0))[0])
"""


def ptx_of(seed: int) -> str:
    """numba-cuda's PTX of a kernel, from a process in which nothing else is called numba."""
    pytest.importorskip("numba_cuda")
    command = [sys.executable, "-c", _COMPILE, str(seed)]
    root = Path(__file__).parents[3]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("seed", ALONE[:6])
def test_a_random_kernel_by_numba(seed):
    program = program_of(seed, "cpu")
    module = parse_ptx(ptx_of(seed))
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
