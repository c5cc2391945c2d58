"""``numba.cuda.dispatcher``: the dispatcher under numba's name."""

from __future__ import annotations

from gridlane.cuda.kernels.dispatcher import Dispatcher, ForAll
from gridlane.cuda.kernels.kernel import Kernel as _Kernel

CUDADispatcher = Dispatcher

__all__ = ["CUDADispatcher", "Dispatcher", "ForAll", "_Kernel"]
