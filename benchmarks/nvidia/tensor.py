"""A matrix product on tensor cores: ours in Python beside torch's, and whether they agree."""

from __future__ import annotations

from statistics import median
from typing import Any

import ml_dtypes
import numpy as np
from benchmarks.nvidia import tensor_kernel

from gridlane import cuda
from gridlane.cli.gpu_bench.timing import timed
from gridlane.cuda.types import bfloat16, float16

SIZE = 8192
ROUNDS = 5

# Name: the element of the kernel, that of numpy, and how far results may be apart, relatively: two
# steps of the element's last bit.
ELEMENTS: dict[str, tuple[Any, Any, float]] = {
    "f16": (float16, np.float16, 2**-9),
    "bf16": (bfloat16, ml_dtypes.bfloat16, 2**-6),
}
NEAR_ZERO = 0.1
"""What sums of 8192 products of normal numbers, about 90 in size, may differ by in any case."""


def torch_timed(run: Any, count: int = 15) -> float:
    """Median milliseconds of work on torch's stream."""
    import torch

    times = []
    for _ in range(3):
        run()
    for _ in range(count):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return median(times)


def compare(name: str) -> dict[str, Any]:
    """Both products of the same matrices, in turns."""
    import torch

    element, dtype, relative = ELEMENTS[name]
    rng = np.random.default_rng(1)
    host = [rng.standard_normal((SIZE, SIZE), np.float32).astype(dtype) for _ in range(2)]
    a, b = (cuda.to_device(array) for array in host)
    c = cuda.device_array((SIZE, SIZE), dtype)
    kernel, blocks = tensor_kernel.product(element), tensor_kernel.blocks(c)
    launched = kernel[blocks, tensor_kernel.THREADS, 0, tensor_kernel.SHARED]
    x, y, z = (torch.from_dlpack(array) for array in (a, b, c))
    wanted = torch.empty_like(z)

    def ours() -> None:
        launched(a, b, c)

    def theirs() -> None:
        torch.matmul(x, y, out=wanted)

    rounds = [(timed(ours), torch_timed(theirs)) for _ in range(ROUNDS)]
    cuda.synchronize()
    torch.cuda.synchronize()
    wide = wanted.float()
    apart = ((z.float() - wide).abs() / (wide.abs() * relative + NEAR_ZERO)).max().item()
    work = 2 * SIZE**3 * 1e-9
    mine, other = (work / median(times) for times in zip(*rounds, strict=True))
    return {
        "elements": name,
        "ours TFLOP/s": mine,
        "torch TFLOP/s": other,
        "ratio": mine / other,
        "worst difference, of what is allowed": apart,
        "agrees": apart <= 1,
    }


def section() -> list[dict[str, Any]]:
    """Every element; each prints its line."""
    rows = []
    for name in ELEMENTS:
        row = compare(name)
        rows.append(row)
        print(
            f"{name:5} {SIZE}^3  ours {row['ours TFLOP/s']:6.1f} TFLOP/s   torch "
            f"{row['torch TFLOP/s']:6.1f} TFLOP/s   ratio {row['ratio']:.3f}   "
            f"{'agree' if row['agrees'] else 'DIFFER'} "
            f"({row['worst difference, of what is allowed']:.2f} of what is allowed)",
            flush=True,
        )
    return rows
