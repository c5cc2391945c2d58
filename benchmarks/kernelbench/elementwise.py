"""Functions of elements, by one program over tiles of them."""

from __future__ import annotations

import math
from typing import Any

from gridlane import tiles

tl = tiles.language
libdevice = tl.extra.libdevice

BLOCK = 512
"""On an H200 one access of 16 bytes a thread is faster than several."""
ROOT_HALF = tl.constexpr(math.sqrt(0.5))
ROOT_2_PI = tl.constexpr(math.sqrt(2.0 / math.pi))
SELU_SCALE = tl.constexpr(1.0507009873554805)
"""Klambauer et al., "Self-normalizing neural networks", 2017."""
SELU_ALPHA = tl.constexpr(1.6732632423543772)
LINEAR = tl.constexpr(20.0)
"""From here on softplus is its argument in float32."""


@tiles.jit
def function_of(x, number, KIND: tl.constexpr):
    """The function of a name."""
    if KIND == "scaled":
        return x * number
    if KIND == "relu":
        return tl.maximum(x, 0.0)
    if KIND == "leaky_relu":
        return tl.where(x > 0.0, x, number * x)
    if KIND == "sigmoid":
        return tl.fdiv(1.0, 1.0 + tl.exp(-x))
    if KIND == "tanh":
        return libdevice.tanh(x)
    if KIND == "swish":
        return x / (1.0 + tl.exp(-x))
    if KIND == "gelu":
        return 0.5 * x * (1.0 + tl.erf(x * ROOT_HALF))
    if KIND == "gelu_by_tanh":
        return 0.5 * x * (1.0 + libdevice.tanh(ROOT_2_PI * (x + 0.044715 * x * x * x)))
    if KIND == "selu":
        return SELU_SCALE * tl.where(x > 0.0, x, SELU_ALPHA * libdevice.expm1(x))
    if KIND == "hard_sigmoid":
        return tl.minimum(tl.maximum(x + 3.0, 0.0), 6.0) * (1.0 / 6.0)
    if KIND == "softplus":
        return tl.where(x > LINEAR, x, libdevice.log1p(tl.exp(x)))
    if KIND == "softsign":
        return x / (1.0 + tl.abs(x))
    if KIND == "elu":
        return tl.where(x > 0.0, x, number * libdevice.expm1(x))
    tl.static_assert(KIND == "hard_tanh")
    return tl.minimum(tl.maximum(x, -1.0), 1.0)


@tiles.jit
def mapped(x, out, count, number, KIND: tl.constexpr, WHOLE: tl.constexpr, BLOCK: tl.constexpr):
    """A tile of elements a program; ``WHOLE``: all tiles are."""
    first = tl.program_id(0).to(tl.int64) * BLOCK
    i = tl.arange(0, BLOCK)
    if WHOLE:
        tl.store(out + first + i, function_of(tl.load(x + first + i), number, KIND))
    else:
        inside = first + i < count
        values = tl.load(x + first + i, mask=inside, other=0.0)
        tl.store(out + first + i, function_of(values, number, KIND), mask=inside)


@tiles.jit
def mapped_rows(
    d, x, out, length, blocks, WHOLE: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """A tile of a row a program, times the row's number."""
    row, block = tl.program_id(0) // blocks, tl.program_id(0) % blocks
    first = row.to(tl.int64) * length + block * BLOCK
    i = tl.arange(0, BLOCK)
    by = tl.load(d + row)
    if WHOLE:
        tl.store(out + first + i, tl.load(x + first + i) * by)
    else:
        inside = block * BLOCK + i < length
        values = tl.load(x + first + i, mask=inside, other=0.0)
        tl.store(out + first + i, values * by, mask=inside)


def _of_all(kind: str, x: Any, number: float = 0.0) -> Any:
    out, count = x.new_empty(x.shape), x.numel()
    mapped[(-(-count // BLOCK),)](
        x, out, count, number, KIND=kind, WHOLE=count % BLOCK == 0, BLOCK=BLOCK
    )
    return out


def scaled(model: Any, x: Any, by: float) -> Any:
    """Elements times a number."""
    return _of_all("scaled", x, by)


def scaled_rows(model: Any, d: Any, x: Any) -> Any:
    """Each row times a number of its own: the product with a diagonal matrix."""
    out, (rows, length) = x.new_empty(x.shape), x.shape
    blocks = -(-length // BLOCK)
    mapped_rows[(rows * blocks,)](d, x, out, length, blocks, WHOLE=length % BLOCK == 0, BLOCK=BLOCK)
    return out


def relu(model: Any, x: Any) -> Any:
    return _of_all("relu", x)


def leaky_relu(model: Any, x: Any) -> Any:
    return _of_all("leaky_relu", x, model.negative_slope)


def sigmoid(model: Any, x: Any) -> Any:
    return _of_all("sigmoid", x)


def tanh(model: Any, x: Any) -> Any:
    return _of_all("tanh", x)


def swish(model: Any, x: Any) -> Any:
    return _of_all("swish", x)


def gelu(model: Any, x: Any) -> Any:
    return _of_all("gelu", x)


def gelu_by_tanh(model: Any, x: Any) -> Any:
    return _of_all("gelu_by_tanh", x)


def selu(model: Any, x: Any) -> Any:
    return _of_all("selu", x)


def hard_sigmoid(model: Any, x: Any) -> Any:
    return _of_all("hard_sigmoid", x)


def softplus(model: Any, x: Any) -> Any:
    return _of_all("softplus", x)


def softsign(model: Any, x: Any) -> Any:
    return _of_all("softsign", x)


def elu(model: Any, x: Any) -> Any:
    return _of_all("elu", x, model.alpha)


def hard_tanh(model: Any, x: Any) -> Any:
    return _of_all("hard_tanh", x)
