"""The kernels' results in float64 by NumPy, and gradients by differences."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

FLOATS = [np.float32, np.float16, ml_dtypes.bfloat16, np.float64]
_ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}


def wide(x) -> np.ndarray:
    return np.asarray(x).astype(np.float64)


def close(got, expected, terms: float = 8.0, dtype=None) -> None:
    """Compare a result with exact numbers: one rounding to its dtype, and some of the sums'."""
    assert got.shape == expected.shape
    kind = np.dtype(dtype or got.dtype).name
    sums = _ROUNDING["float64" if kind == "float64" else "float32"]
    size = np.abs(expected).max(initial=0.0)
    bound = _ROUNDING[kind] * np.abs(expected) + sums * terms * max(size, 1e-30)
    tiny = {"float16": 2.0**-24, "bfloat16": 2.0**-133}.get(kind, 0.0)
    error = np.abs(wide(got) - expected)
    assert np.isfinite(expected).all()
    assert (error <= bound * 1.01 + tiny).all(), (error - bound).max()


def differences(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, grad) -> np.ndarray:
    """The gradient of sum(function(x) * grad) by central differences, for few elements."""
    x, grad, step = wide(x), wide(grad), 1e-5
    gradient = np.empty_like(x)
    for place in np.ndindex(*x.shape):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[place] += sign * step
            ends.append((function(moved) * grad).sum())
        gradient[place] = (ends[0] - ends[1]) / (2 * step)
    return gradient


def softmax(x, axis: int = -1) -> np.ndarray:
    powers = np.exp(wide(x) - wide(x).max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def layer_norm(x, weight=None, bias=None, eps: float = 1e-5) -> np.ndarray:
    x = wide(x)
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    x = x if weight is None else x * wide(weight)
    return x if bias is None else x + wide(bias)


def rms_norm(x, weight=None, eps: float = 1e-6) -> np.ndarray:
    x = wide(x)
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    return x if weight is None else x * wide(weight)


def rope(x, cos, sin, interleaved: bool = False) -> np.ndarray:
    """Rotation by complex numbers; cos and sin have x's axes."""
    x, turn = wide(x), wide(cos) + 1j * wide(sin)
    half = x.shape[-1] // 2
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    turned = (a + 1j * b) * turn
    parts = turned.real, turned.imag
    if interleaved:
        return np.stack(parts, -1).reshape(x.shape)
    return np.concatenate(parts, -1)


def cross_entropy(x, targets, ignored: int = -100, smoothing: float = 0.0) -> np.ndarray:
    """The loss of each row."""
    x = wide(x).reshape(-1, x.shape[-1])
    logs = np.log(softmax(x))
    kept = targets.reshape(-1) != ignored
    own = logs[np.arange(len(x)), np.where(kept, targets.reshape(-1), 0)]
    losses = -(own * (1 - smoothing) + logs.mean(-1) * smoothing)
    return np.where(kept, losses, 0.0).reshape(targets.shape)


def seen(queries: int, keys: int, causal: bool = False, window: int | None = None) -> np.ndarray:
    place = np.arange(queries)[:, None] + keys - queries
    j = np.arange(keys)[None]
    kept = np.ones((queries, keys), bool)
    if causal:
        kept &= j <= place
    if window is not None:
        kept &= (j > place - window) & (j < place + window)
    return kept


def attention(q, k, v, causal=False, window=None, scale=None, softcap=None) -> np.ndarray:
    q, k, v = wide(q), wide(k), wide(v)
    group = q.shape[1] // k.shape[1]
    k, v = (np.repeat(each, group, 1) for each in (k, v))
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if softcap is None else softcap * np.tanh(scores / softcap)
    kept = seen(q.shape[2], k.shape[2], causal, window)
    powers = np.where(kept, np.exp(scores - scores.max(-1, keepdims=True, initial=-1e3)), 0)
    total = powers.sum(-1, keepdims=True)
    return powers / np.where(total == 0, 1, total) @ v
