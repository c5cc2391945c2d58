"""Warp's kernels of ``make_warp.py`` against numpy.

A kernel takes the bounds of its launch, then its arguments; its threads go on until all of them are
done. An array is a record of its data, the data of its gradient, shape and strides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.peers.corpus.programs import Program, Run

from gridlane import cuda

PROGRAMS: list[Program] = []
RNG = np.random.default_rng(29)
BLOCK = 64
MAX = 4
ARRAY = np.dtype(
    [("data", "u8"), ("grad", "u8"), ("shape", "i4", MAX), ("strides", "i4", MAX), ("ndim", "i4"),
     ("flags", "u4")]
)  # fmt: skip


def program(run: Run) -> Run:
    name = run.__name__
    way = "backward" if name.endswith("_backward") else "forward"
    kernel = f"{name.removesuffix('_backward')}-{way}"
    PROGRAMS.append(Program("warp", name, run, "kernels", kernel))
    return run


class Array:
    """An array on the device, with a gradient.

    Attributes:
        inner: dimensions at the end that are an element's.
    """

    def __init__(self, values: np.ndarray, inner: int = 0, grad: np.ndarray | None = None) -> None:
        self.there = cuda.to_device(np.ascontiguousarray(values))
        self.grad = cuda.to_device(grad if grad is not None else np.zeros_like(values))
        self.values, self.inner = values, inner

    def record(self) -> np.void:
        made = np.zeros((), ARRAY)
        dims = self.values.ndim - self.inner
        made["data"], made["grad"], made["ndim"] = self.there.address, self.grad.address, dims
        made["shape"][:dims] = self.values.shape[:dims]
        made["strides"][:dims] = self.values.strides[:dims]
        return made[()]


def launch(k: Callable[..., None], shape: tuple[int, ...], *args: Any) -> list[np.ndarray]:
    """Launch a kernel; the arrays after it."""
    bounds = np.zeros(
        (), np.dtype([("n", "u4", len(shape)), ("size", "u8"), ("each", "u8")], align=True)
    )
    bounds["n"], bounds["size"], bounds["each"] = shape, math.prod(shape), 1
    given = [each.record() if isinstance(each, Array) else each for each in args]
    k(2, BLOCK, (bounds[()], *given))
    return [each.there.copy_to_host() for each in args if isinstance(each, Array)]


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("f4")


def positive(*shape: int, dtype: str = "f4") -> np.ndarray:
    return (RNG.random(shape) * 3 + 0.05).astype(dtype)


def ints(low: int, high: int, count: int, dtype: str = "i4") -> np.ndarray:
    return RNG.integers(low, high, count).astype(dtype)


@program
def saxpy(k):
    x, y = floats(300), floats(300)
    _, got = launch(k, (300,), np.float32(1.5), Array(x), Array(y))
    return got, (x.astype("f8") * 1.5 + y).astype("f4")


@program
def saxpy_backward(k):
    x, y, out = floats(100), floats(100), floats(100)
    one, other = Array(x), Array(y, grad=out.copy())
    none = np.zeros((), ARRAY)[()]  # the gradients are those of the arrays
    launch(k, (100,), np.float32(1.5), one, other, np.float32(0), none, none)
    return one.grad.copy_to_host(), np.float32(1.5) * out, 1e-6


@program
def functions(k):
    x = positive(200)
    _, got = launch(k, (200,), Array(x), Array(np.zeros_like(x)))
    v = x.astype("f8")
    want = np.sin(v) + np.cos(v) * np.exp(v) + np.log(v) + np.sqrt(v) + v**1.5
    want += np.arctan2(v, 2) + np.tanh(v) + np.floor(v) + np.cbrt(v) + np.arcsin(v / 8)
    return got, want + np.clip(v, 0.5, 1.5) + np.sign(v) + v * 0.75 + 0.5, 1e-5


@program
def vectors(k):
    x = floats(32, 3)
    _, y, z = launch(k, (32,), Array(x, 1), Array(np.zeros_like(x), 1), Array(np.zeros(32, "f4")))
    a, b = x.astype("f8"), x[::-1].astype("f8")
    size = np.linalg.norm(a, axis=1)[:, None]
    want = np.cross(a, b) + a / size * size[::-1] - a * b
    return (y, z), (want, (a * b).sum(1) + ((a - b) ** 2).sum(1) + a.max(1)), 1e-5


@program
def matrices(k):
    x = floats(32, 3, 3) + 3 * np.eye(3, dtype="f4")
    _, y, z = launch(k, (32,), Array(x, 2), Array(np.zeros_like(x), 2), Array(np.zeros(32, "f4")))
    m = x.astype("f8")
    want = m @ m.swapaxes(1, 2) + np.linalg.inv(m) + m[:, 0, :, None] * m[:, 1, None, :]
    return (y, z), (want, np.linalg.det(m) + np.trace(m, 0, 1, 2) + (m * m).sum((1, 2))), 1e-4


@program
def quaternions(k):
    axis = floats(32, 3)
    _, y = launch(k, (32,), Array(axis, 1), Array(np.zeros_like(axis), 1))
    a = axis.astype("f8")
    unit = a / np.linalg.norm(a, axis=1)[:, None]
    v = np.array([1.0, 2, 3])
    c, s = math.cos(0.5), math.sin(0.5)
    turned = v * c + np.cross(unit, v) * s + unit * (unit @ v)[:, None] * (1 - c)
    return y, turned + a, 1e-5  # an axis stays where it is


PARTICLE = np.dtype([("at", "f4", 3), ("mass", "f4"), ("kind", "i4")])


@program
def structures(k):
    x, p = np.zeros(32, PARTICLE), np.zeros((), PARTICLE)
    x["at"], x["mass"], x["kind"] = floats(32, 3), positive(32), ints(0, 9, 32)
    p["at"], p["kind"] = (1, 2, 3), 4
    got, y = launch(k, (32,), Array(x), p[()], Array(np.zeros(32, "f4")))
    kind = x["kind"] + 4
    return (got["kind"], y), (kind, x["at"] @ np.array([1.0, 2, 3]) * x["mass"] + kind), 1e-5


@program
def planes(k):
    x = ints(-9, 9, 20 * 30).astype("f4").reshape(20, 30)
    _, y = launch(k, (20, 30), Array(x), Array(np.zeros_like(x)))
    wide = np.pad(x, 1, "edge")
    return y, sum(wide[a : a + 20, b : b + 30] for a in range(3) for b in range(3))


@program
def atomics(k):
    x = ints(-50, 50, 200)
    start = np.array([0, -99, 99], "i4")
    _, total, f = launch(k, (200,), Array(x), Array(start), Array(np.zeros(5, "f4")))
    sums = np.bincount(x & 3, x, 4)
    return (total, f), ([x.sum(), x.max(), x.min()], [*sums, max(0, x.max())])


@program
def loops(k):
    x = np.append(ints(1, 90, 39), 95).astype("i4")
    _, y = launch(k, (40,), Array(x), Array(np.zeros(40, "i4")), np.int32(40))
    return y, [sum(math.gcd(int(v), int(w)) for w in x[:-1] if w % 3) for v in x]


@program
def integers(k):
    x = RNG.integers(-(2**40), 2**40, 100)
    _, y, z = launch(k, (100,), Array(x), Array(np.zeros_like(x)), Array(np.zeros(100, "u1")))
    whole = np.trunc(x / 7).astype("i8")
    whole += np.where(np.abs(x - whole * 7) >= 7, np.sign(x), 0)
    return (y, z), (whole + np.fmod(x, 11) + (x << 3) - (x ^ 85), x & 255)


@program
def doubles(k):
    x = positive(100, dtype="f8")
    _, y = launch(k, (100,), Array(x), Array(np.zeros_like(x)))
    return y, np.sqrt(x) + np.sin(x) * np.exp(-x) + x / 3, 1e-14


@program
def halves(k):
    x = floats(100).astype("f2")
    _, y = launch(k, (100,), Array(x), Array(np.zeros_like(x)))
    return y, x * 2 + x, 2e-3


def _pcg(state: np.ndarray) -> np.ndarray:
    """The hash of Jarzynski and Olano 2020 that is called pcg."""
    b = state * np.uint32(747796405) + np.uint32(2891336453)
    c = ((b >> (b >> np.uint32(28)) + np.uint32(4)) ^ b) * np.uint32(277803737)
    return c >> np.uint32(22) ^ c


@program
def randoms(k):
    y, z = launch(k, (100,), np.int32(42), Array(np.zeros(100, "i4")), Array(np.zeros(100, "f4")))
    state = _pcg(np.uint32(42) + _pcg(np.arange(100, dtype="u4")))
    first = _pcg(state)
    second = _pcg(first)
    return (y, z), (first.view("i4"), (second >> 8) / 2.0**24 * 2 - 1), 1e-6


@program
def searched(k):
    x, at = np.sort(floats(50)), floats(80)
    *_, y = launch(k, (80,), Array(x), Array(at), Array(np.zeros(80, "i4")))
    return y, np.minimum(np.searchsorted(x, at), 49)  # none is at the last one


@program
def tiles(k):
    x = ints(-99, 99, 6 * 256).astype("f4").reshape(6, 256)
    one, other = Array(x), Array(np.zeros(6, "f4"))
    bounds = np.zeros((), np.dtype([("n", "u4", 1), ("size", "u8"), ("each", "u8")], align=True))
    bounds["n"], bounds["size"], bounds["each"] = 6, 6 * BLOCK, BLOCK
    k(6, BLOCK, (bounds[()], one.record(), other.record()))
    return other.there.copy_to_host(), x.sum(1) * 2


@program
def skinny(k):
    x = floats(32, 2, 2)
    _, y = launch(k, (32,), Array(x, 2), Array(np.zeros((32, 2), "f4"), 1))
    v = np.tile(np.array([1.0, 2.0]), (32, 1))
    for _ in range(5):
        v = np.einsum("nij,nj->ni", x.astype("f8"), v)
        v /= np.linalg.norm(v, axis=1)[:, None]
    return y, v, 1e-3


@program
def springs(k):
    at, ends = floats(20, 3), RNG.integers(0, 20, (50, 2)).astype("i4")
    ends[:, 1] = (ends[:, 0] + 1 + ends[:, 1] % 19) % 20
    *_, force = launch(k, (50,), Array(at, 1), Array(ends), Array(np.zeros_like(at), 1))
    d = at[ends[:, 0]].astype("f8") - at[ends[:, 1]]
    size = np.linalg.norm(d, axis=1)[:, None]
    want = np.zeros((20, 3))
    np.add.at(want, ends[:, 0], -d / size * (size - 1) * 10)
    np.add.at(want, ends[:, 1], d / size * (size - 1) * 10)
    return force, want, 1e-4
