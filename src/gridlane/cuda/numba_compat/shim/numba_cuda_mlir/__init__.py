"""``numba_cuda_mlir`` in the child processes of a program that gridlane runs.

As the folder ``numba`` beside it.
"""

import sys

from gridlane.cuda import install_as_numba

install_as_numba()
sys.modules.pop("numba_cuda_mlir", None)
import numba_cuda_mlir  # noqa: E402, F401  # pyright: ignore  # now gridlane's, by the finder
