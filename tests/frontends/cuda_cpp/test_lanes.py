"""Operations on the bytes and half words of a register, against numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device

COUNT = 96
Model = Callable[[np.ndarray, np.ndarray, int, int], np.ndarray]
"""The lanes of a result by those of the operands, as 64-bit integers, and their bounds."""

BOTH: dict[str, Model] = {
    "add": lambda a, b, low, high: a + b,
    "sub": lambda a, b, low, high: a - b,
    "cmpeq": lambda a, b, low, high: -(a == b).astype(int),
    "cmpne": lambda a, b, low, high: -(a != b).astype(int),
    "seteq": lambda a, b, low, high: a == b,
    "setne": lambda a, b, low, high: a != b,
    "neg": lambda a, b, low, high: -a,
}
EITHER: dict[str, Model] = {
    "min": lambda a, b, low, high: np.minimum(a, b),
    "max": lambda a, b, low, high: np.maximum(a, b),
    "cmpgt": lambda a, b, low, high: -(a > b).astype(int),
    "cmpge": lambda a, b, low, high: -(a >= b).astype(int),
    "cmplt": lambda a, b, low, high: -(a < b).astype(int),
    "cmple": lambda a, b, low, high: -(a <= b).astype(int),
    "setgt": lambda a, b, low, high: a > b,
    "setge": lambda a, b, low, high: a >= b,
    "setlt": lambda a, b, low, high: a < b,
    "setle": lambda a, b, low, high: a <= b,
    "absdiff": lambda a, b, low, high: abs(a - b),
    # A sum below 0 is rounded down, as by vavrg.
    "avg": lambda a, b, low, high: (a + b + (a + b >= 0)) >> 1,
}
SIGNED: dict[str, Model] = {
    "addss": lambda a, b, low, high: np.clip(a + b, low, high),
    "subss": lambda a, b, low, high: np.clip(a - b, low, high),
    "negss": lambda a, b, low, high: np.minimum(-a, high),
    "abs": lambda a, b, low, high: abs(a),
    "absss": lambda a, b, low, high: np.minimum(abs(a), high),
}
UNSIGNED: dict[str, Model] = {
    "addus": lambda a, b, low, high: np.clip(a + b, low, high),
    "subus": lambda a, b, low, high: np.clip(a - b, low, high),
    "hadd": lambda a, b, low, high: (a + b) >> 1,
}
ONE = ("neg", "negss", "abs", "absss")
NAMES = {
    **{name: ("u", model) for name, model in BOTH.items()},
    **{f"{name}{sign}": (sign, model) for name, model in EITHER.items() for sign in "us"},
    **{name: ("s", model) for name, model in SIGNED.items()},
    **{name: ("u", model) for name, model in UNSIGNED.items() if name != "hadd"},
    "haddu": ("u", UNSIGNED["hadd"]),
}


def test_lanes():
    current.choose(get_device("cpu"))
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 2**32, (2, COUNT), np.uint32)
    edges = np.array([0, 0x80808080, 0x7F7F7F7F, 0xFFFFFFFF, 0x80008000, 0x7FFF7FFF, 1], np.uint32)
    a[:49], b[:49] = np.repeat(edges, 7), np.tile(edges, 7)
    names = [(name, lanes) for name in NAMES for lanes in (2, 4)]
    sums = [(sign, lanes) for sign in "us" for lanes in (2, 4)]
    calls = [f"__v{n}{lanes}({'a' if n in ONE else 'a, b'})" for n, lanes in names]
    calls += [f"__vsad{sign}{lanes}(a, b)" for sign, lanes in sums]
    body = "\n".join(f"out[{n * COUNT} + i] = {call};" for n, call in enumerate(calls))
    code = (
        'extern "C" __global__ void k(const unsigned *x, const unsigned *y, unsigned *out)\n'
        f"{{ int i = threadIdx.x; unsigned a = x[i], b = y[i];\n{body}\n}}"
    )
    out = np.zeros((len(calls), COUNT), np.uint32)
    cuda.RawKernel(code, "k", backend="clang")(1, COUNT, (a, b, out))
    wrong = []
    for (name, lanes), got in zip(names, out):
        sign, model = NAMES[name]
        if not np.array_equal(got, whole(model, a, b, sign, lanes)):
            wrong.append(f"__v{name}{lanes}")
    for (sign, lanes), got in zip(sums, out[len(names) :]):
        apart = abs(parts(a, sign, lanes) - parts(b, sign, lanes)).sum(axis=1)
        if not np.array_equal(got, apart):
            wrong.append(f"__vsad{sign}{lanes}")
    assert not wrong


def parts(words: np.ndarray, sign: str, lanes: int) -> np.ndarray:
    kind = f"{'u' if sign == 'u' else 'i'}{4 // lanes}"
    return words.view(kind).reshape(-1, lanes).astype(np.int64)


def whole(model: Model, a: np.ndarray, b: np.ndarray, sign: str, lanes: int) -> np.ndarray:
    bits = 32 // lanes
    low, high = (0, 2**bits - 1) if sign == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    made = model(parts(a, sign, lanes), parts(b, sign, lanes), low, high)
    return made.astype(np.int64).astype(f"u{4 // lanes}").reshape(-1).view(np.uint32)
