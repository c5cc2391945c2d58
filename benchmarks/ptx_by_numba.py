"""Prints the PTX that numba-cuda makes of an example's kernel, which needs no GPU.

    python benchmarks/ptx_by_numba.py EXAMPLE KERNEL fast|strict TYPE...

A process of its own, in which ``numba`` is numba. TYPE is as ``float32[:, ::1]``; strict drops
the kernel's ``fastmath=True``.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import numba
import numba.cuda
from numba.cuda import dispatcher

EXAMPLES = Path(__file__).parents[1] / "examples"
GENERATION = 8, 0


def main(example: str, kernel: str, how: str, *types: str) -> None:
    sys.path.insert(0, str(EXAMPLES))
    # What device functions are compiled for; numba asks the driver otherwise.
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=GENERATION)
    found = runpy.run_path(str(EXAMPLES / f"{example}.py"), run_name="example")[kernel]
    signature = tuple(eval(each, vars(numba.types)) for each in types)
    fast = how == "fast" and bool(found.targetoptions.get("fastmath"))
    print(numba.cuda.compile_ptx(found.py_func, signature, fastmath=fast, cc=GENERATION)[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
