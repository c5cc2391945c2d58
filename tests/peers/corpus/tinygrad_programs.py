"""tinygrad's graphs of ``make_tinygrad.py`` against numpy.

Each kernel of a graph's schedule runs in its order, on device arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.peers.corpus.programs import Answer, Program

from gridlane import cuda

PROGRAMS: list[Program] = []
RNG = np.random.default_rng(23)
Graph = Callable[..., np.ndarray]


def graph(inputs: Callable[[], list[np.ndarray]], near: float = 0) -> Callable[[Graph], Graph]:
    """Keep a graph: the function is what numpy says of the inputs."""

    def keep(want: Graph) -> Graph:
        def run(k: Callable[..., Any]) -> Answer:
            given = inputs()
            result = np.asarray(want(*given))
            got = k(given, result.dtype, result.shape)
            return (got, result, near) if near else (got, result)

        PROGRAMS.append(Program("tinygrad", want.__name__, run, want.__name__))
        return want

    return keep


def scheduled(meta: dict[str, Any], module: Any) -> Callable[..., np.ndarray]:
    """What runs the kernels of a schedule."""

    def run(given: list[np.ndarray], dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        arrays = [cuda.to_device(np.zeros(size, np.uint8)) for size in meta["sizes"]]
        for number, values in zip(meta["inputs"], given, strict=True):
            if number >= 0:
                arrays[number] = cuda.to_device(np.ascontiguousarray(values).view(np.uint8).ravel())
        for step in meta["steps"]:
            kernel = module.get_function(step["entry"])
            buffers = tuple(arrays[number][offset:] for number, offset in step["buffers"])
            kernel(tuple(step["grid"]), tuple(step["block"]), buffers)
        made = arrays[meta["result"]].copy_to_host()
        count = math.prod(shape) * dtype.itemsize
        return made[:count].view(dtype).reshape(shape)

    return run


def normal(*shapes: tuple[int, ...], dtype: str = "f4") -> Callable[[], list[np.ndarray]]:
    return lambda: [RNG.standard_normal(shape).astype(dtype) for shape in shapes]


def positive(*shapes: tuple[int, ...], dtype: str = "f4") -> Callable[[], list[np.ndarray]]:
    return lambda: [(RNG.random(shape) * 3 + 0.1).astype(dtype) for shape in shapes]


def whole(low: int, high: int, *shapes: tuple[int, ...], dtype: str = "i4"):
    return lambda: [RNG.integers(low, high, shape).astype(dtype) for shape in shapes]


@graph(normal((64,), (64,)), 1e-6)
def elementwise(a, b):
    return np.maximum(a * b + a, 0) - b / np.float32(3)


@graph(positive((100,)), 3e-6)
def functions(a):
    v = a.astype("f8")
    made = np.exp(v) + np.log(v) + np.sin(v) * np.cos(v) + np.sqrt(v) + np.exp2(v) + np.tanh(v)
    return (made + 1 / (1 + np.exp(-v))).astype("f4")


@graph(positive((100,), (100,)), 1e-5)
def powers(a, b):
    v, w = a.astype("f8"), b.astype("f8")
    return (v**w + v**3 + 1 / np.sqrt(v) + np.vectorize(math.erf)(v)).astype("f4")


@graph(normal((40, 60)), 1e-5)
def sums(a):
    return a.sum(1)


@graph(normal((37, 53)))
def most(a):
    return a.max(0)


@graph(normal((10, 20, 30)), 1e-5)
def variance(a):
    return a.var((0, 2), ddof=1)


def _softmax(a):
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@graph(normal((20, 100)), 1e-6)
def softmax(a):
    return _softmax(a)


@graph(normal((12, 64), (64,)), 1e-5)
def layer_norm(a, w):
    d = a - a.mean(1, keepdims=True)
    return d / np.sqrt((d * d).mean(1, keepdims=True) + np.float32(1e-5)) * w


@graph(normal((48, 32), (32, 40)), 1e-5)
def matmul(a, b):
    return a @ b


@graph(normal((64, 64), (64, 64), dtype="f2"), 1e-4)
def matmul_half(a, b):
    return a.astype("f4") @ b.astype("f4")


@graph(normal((3, 33, 17), (3, 17, 21)), 1e-5)
def batched(a, b):
    return np.maximum(a @ b, 0)


@graph(normal((2, 3, 12, 12), (8, 3, 3, 3), (8,)), 1e-5)
def convolved(x, w, b):
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    made = np.zeros((2, 8, 12, 12))
    for dy in range(3):
        for dx in range(3):
            made += np.einsum(
                "nchw,oc->nohw", wide[:, :, dy : dy + 12, dx : dx + 12], w[:, :, dy, dx]
            )
    return np.maximum(made + b[None, :, None, None], 0).astype("f4")


@graph(normal((1, 4, 16, 16)), 1e-6)
def pooled(x):
    tiles = x.reshape(1, 4, 8, 2, 8, 2)
    return tiles.max((3, 5)) + tiles.mean((3, 5))


@graph(normal((2, 4, 8, 16), (2, 4, 8, 16), (2, 4, 8, 16)), 1e-5)
def attention(q, k, v):
    return _softmax(q @ k.swapaxes(2, 3) / np.float32(4)) @ v


@graph(normal((30, 40)))
def argmax(a):
    return a.argmax(1).astype("i4")


@graph(normal((300,)), 1e-4)
def cumulated(a):
    return np.cumsum(a)


@graph(whole(-1000, 1000, (100,), (100,)))
def integers(a, b):
    made = (a // 7 + a % 11) * b + (a ^ b) - (a & 255) + (a >> 3) + (b << 2)
    return (made + np.where(a < b, a, -b)).astype("i4")


@graph(whole(-(10**8), 10**8, (100,), (100,), dtype="i8"))
def longs(a, b):
    return a * b // 1000 + a % 77 - np.abs(b)


@graph(positive((100,)), 1e-6)
def casts(a):
    made = a.astype("i4").astype("u1").astype("f4") + (a.astype("f2") * np.float16(3)).astype("f4")
    return made + (a > 0) + a.astype("i8").astype("f4")


@graph(positive((100,), dtype="f8"), 1e-14)
def doubles(a):
    return a * a - a * 3 + np.where(a < 1, a, 2)


def _table() -> list[np.ndarray]:
    return [RNG.standard_normal((50, 8)).astype("f4"), RNG.integers(0, 50, 20).astype("i4")]


@graph(_table)
def embedded(table, at):
    return table[at]


@graph(normal((10, 20), (10, 20)))
def moved(a, b):
    first = np.pad(a[:, ::-1], ((1, 2), (0, 3)))
    return first + np.pad(np.concatenate([b, b[:3]]), ((0, 0), (3, 0)))


@graph(normal((16, 16)))
def triangle(a):
    return np.triu(a) + np.tril(a.T, -1)


@graph(normal((100,), (100,), dtype="f2"), 2e-3)
def halves(a, b):
    return a * b + np.maximum(a, b)


@graph(whole(0, 2, (40, 25), dtype="?"))
def booleans(a):
    return (a.any(1) + a.all(1) * 2 + a.sum(1)).astype("i4")


@graph(normal((64,)))
def sorted_(a):
    return np.sort(a)


@graph(normal((4, 8)), 1e-6)
def outer(a):
    return a.T @ a
