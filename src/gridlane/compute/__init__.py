"""Loop nests as kernels on every device: the loops are the meaning, and gridlane finds the threads.

>>> import numpy as np
>>> from gridlane.compute import Tensor, compute, f32, grid
>>> @compute
... def product(a: Tensor[f32, "M", "K"], b: Tensor[f32, "K", "N"], out: Tensor[f32, "M", "N"]):
...     for i, j in grid(M, N):
...         s = 0.0
...         for k in range(K):
...             s += a[i, k] * b[k, j]
...         out[i, j] = s
>>> out = np.zeros((2, 2), np.float32)
>>> product(np.eye(2, dtype=np.float32), np.full((2, 2), 3, np.float32), out)
>>> out
array([[3., 3.],
       [3., 3.]], dtype=float32)
"""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("islpy") is None:  # at once, and by what to install
    raise ModuleNotFoundError(
        "gridlane.compute computes dependences by islpy: pip install 'gridlane[compute]'",
        name="islpy",
    )

from gridlane.compute.decorator import compute, grid, parallel
from gridlane.compute.hints import Hints
from gridlane.compute.running import Compute
from gridlane.compute.tensors import Dim, Tensor
from gridlane.core.dtypes import (
    b1,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from gridlane.launch.fusion import Fusion, fused

__all__ = [
    "Compute", "Dim", "Fusion", "Hints", "Tensor", "b1", "bf16", "compute", "f16", "f32", "f64",
    "fused", "grid", "i8", "i16", "i32", "i64", "parallel", "u8", "u16", "u32", "u64",
]  # fmt: skip
