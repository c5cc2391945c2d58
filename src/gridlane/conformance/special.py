"""Corner-case values of each scalar type."""

from __future__ import annotations

import random

import numpy as np

from gridlane.core.dtypes import DType

_FLOAT_BITS = {
    # exponent bits, fraction bits
    "f16": (5, 10),
    "bf16": (8, 7),
    "f32": (8, 23),
    "f64": (11, 52),
}


def special(dtype: DType, extra: int = 6) -> np.ndarray:
    """The corner cases of a type, and ``extra`` random bit patterns."""
    generator = random.Random(f"{dtype}")
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_integer:
        low, high = dtype.min, dtype.max
        values = [0, 1, 2, 3, 7, high, high - 1, low, low + 1, high // 2, dtype.wrap(-1)]
        values += [dtype.wrap(n) for n in (-2, -3, 31, 32, 33, 64, 0x55555555, 1 << 30)]
        values += [generator.randint(low, high) for _ in range(extra)]
        return np.array(sorted(set(values)), dtype.numpy)
    exponent, fraction = _FLOAT_BITS[dtype.name]
    infinite = ((1 << exponent) - 1) << fraction
    sign = 1 << (exponent + fraction)
    patterns = [0, 1, (1 << fraction) - 1, 1 << fraction, infinite - 1, infinite]
    patterns += [p | sign for p in patterns]
    patterns += [infinite | 1 << (fraction - 1)]
    patterns += [generator.getrandbits(dtype.bits) & ~(1 << (fraction + 2)) for _ in range(extra)]
    corner = np.array(patterns, f"u{dtype.size}").view(dtype.numpy)
    plain = [1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 3.7, -3.7, 100.0, 1e-3, 1e4, 65000.0]
    if dtype.name != "f16":
        plain += [2147483648.0, -2147483648.0, 4294967296.0, 9.3e18, -9.3e18, 1.9e19, 1e30]
    plain.append(1.0 + 2.0**-fraction)
    return np.concatenate([corner, np.array(plain).astype(dtype.numpy)])


def grid_of(*axes: np.ndarray, limit: int = 4096) -> list[np.ndarray]:
    """Every combination of the values, one array per axis; at most about ``limit`` of them."""
    meshes = [mesh.reshape(-1) for mesh in np.meshgrid(*axes, indexing="ij")]
    step = -(-meshes[0].size // limit)
    return [mesh[::step] if step == 1 else mesh[:: step | 1] for mesh in meshes]
