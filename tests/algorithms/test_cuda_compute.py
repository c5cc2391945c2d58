"""Programs that import ``cuda.compute`` and ``cuda.coop``."""

from __future__ import annotations

import os
from pathlib import Path

from tests.programs import run

PROGRAM = """
import numpy as np
import cuda.compute
from cuda.compute.algorithms import reduce_into
from cuda.compute.iterators import CountingIterator
from cuda.compute.op import OpKind
from cuda.compute.types import int64

total = np.zeros(1, np.int64)
reduce_into(d_in=CountingIterator(np.int64(1)), d_out=total, num_items=10, op=OpKind.PLUS,
            h_init=np.int64(0))
print(total[0], cuda.compute.__name__, int64.dtype)
try:
    import cuda.compute.inner
except ModuleNotFoundError as error:
    print(error)
"""


def test_cuda_compute_is_gridlanes(tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM)
    ran = run(["-m", "gridlane", "run", "program.py"], tmp_path, os.environ)
    first, second = ran.stdout.splitlines()
    assert first == "55 gridlane.algorithms int64", ran.stderr
    assert second.startswith("gridlane has no cuda.compute.inner; it has cuda.compute, ")


INSIDE = """
import numpy as np
from numba import cuda
import cuda.coop._experimental as coop
import cuda.cccl.cooperative.experimental as cooperative
from cuda.coop import block

total = coop.block.make_sum(np.int32, 64)

@cuda.jit(link=total.files)
def kernel(out):
    added = total(cuda.threadIdx.x)
    if cuda.threadIdx.x == 0:
        out[0] = added

out = np.zeros(1, np.int32)
kernel[1, 64](out)
print(out[0], block is cooperative.block is coop.block, coop.__name__)
try:
    import cuda.coop.tile
except ModuleNotFoundError as error:
    print(error)
"""


def test_cuda_coop_is_gridlanes(tmp_path: Path):
    (tmp_path / "program.py").write_text(INSIDE)
    ran = run(["-m", "gridlane", "run", "program.py"], tmp_path, os.environ)
    first, second = ran.stdout.splitlines()
    assert first == "2016 True gridlane.algorithms.coop", ran.stderr
    assert second.startswith("gridlane has no cuda.coop.tile; it has cuda.coop, cuda.coop.block, ")
