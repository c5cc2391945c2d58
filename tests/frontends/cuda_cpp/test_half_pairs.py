"""Functions of pairs of 16-bit floats, against numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device

F16 = np.float16
Model = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def limited(x: np.ndarray) -> np.ndarray:
    """Within 0 and 1, a NaN as 0."""
    return np.where(x > 0, np.minimum(x, F16(1)), F16(0))


def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return (a.astype(np.float64) * b + c).astype(F16)


MODELS: dict[str, Model] = {
    "__hadd2_rn(a, b)": lambda a, b, c: a + b,
    "__hsub2_rn(a, b)": lambda a, b, c: a - b,
    "__hmul2_rn(a, b)": lambda a, b, c: a * b,
    "__hadd2_sat(a, b)": lambda a, b, c: limited(a + b),
    "__hsub2_sat(a, b)": lambda a, b, c: limited(a - b),
    "__hmul2_sat(a, b)": lambda a, b, c: limited(a * b),
    "__hmin2(a, b)": lambda a, b, c: np.fmin(a, b),
    "__hmax2(a, b)": lambda a, b, c: np.fmax(a, b),
    "__hmin2_nan(a, b)": lambda a, b, c: np.minimum(a, b),
    "__hmax2_nan(a, b)": lambda a, b, c: np.maximum(a, b),
    "__hfma2(a, b, c)": fused,
    "__hfma2_sat(a, b, c)": lambda a, b, c: limited(fused(a, b, c)),
    "__hfma2_relu(a, b, c)": lambda a, b, c: np.maximum(fused(a, b, c), F16(0)),
}


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
def test_pairs():
    current.choose(get_device("cpu"))
    rng = np.random.default_rng(5)
    a, b, c = rng.normal(0, 2, (3, 128)).astype(F16)
    a[:4], b[2:6] = np.nan, np.nan
    body = "\n".join(f"out[{n * 64} + i] = {call};" for n, call in enumerate(MODELS))
    code = (
        '#include <cuda_fp16.h>\nextern "C" __global__ void k(const __half2 *x, const __half2 *y,'
        " const __half2 *z, __half2 *out)\n"
        f"{{ int i = threadIdx.x; __half2 a = x[i], b = y[i], c = z[i];\n{body}\n}}"
    )
    out = np.zeros((len(MODELS), 128), F16)
    cuda.RawKernel(code, "k", backend="clang")(1, 64, (a, b, c, out))
    for call, got in zip(MODELS, out, strict=True):
        assert np.array_equal(got, MODELS[call](a, b, c), equal_nan=True), call
