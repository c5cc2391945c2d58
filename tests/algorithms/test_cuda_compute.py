"""Programs that import ``cuda.compute``."""

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
