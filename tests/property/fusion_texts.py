"""Random element-wise kernels as text, whose products and sums meet in many ways."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.core.generated_text import function_of

SCOPE = {"cuda": cuda, "f32": np.float32, "f64": np.float64, "half": np.float32(0.5)}
HEADS = (
    "    i = cuda.grid(1)\n    if i < n:\n",
    "    i = cuda.grid(1)\n    if i >= n:\n        return\n    if True:\n",
    "    for i in range(cuda.grid(1), n, cuda.gridsize(1)):\n",
)


def kernel(seed: int) -> Any:
    """A kernel of (x, y, z, s, t, n): it reads all arrays at its thread's element, and writes some
    of them."""
    draw = random.Random(seed)
    names = ["s", "t", "f32(s)", "half", "0.3", "f32(1.7)", "f32(i)"]
    lines: list[str] = []

    def term(depth: int) -> str:
        if depth <= 0 or draw.random() < 0.25:
            loads = ["x[i]", "y[i]", "z[i]"]
            return draw.choice([*loads, *loads, *names])
        left, right = term(depth - 1), term(depth - 1)
        kind = draw.random()
        if kind < 0.4:
            return f"({left} * {right})"
        if kind < 0.75:
            return f"({left} {draw.choice('+-')} {right})"
        if kind < 0.85:
            return f"(-{left})"
        if kind < 0.92:
            return f"f32({left})"
        return f"max({left}, {right})"

    for number in range(draw.randrange(1, 4)):
        kind = draw.random()
        if kind < 0.35:
            lines.append(f"v{number} = {term(2)}")
            names.append(f"v{number}")
        elif kind < 0.8:
            lines.append(f"{draw.choice('xyz')}[i] = {term(draw.randrange(1, 4))}")
        elif kind < 0.9:
            lines += [f"if {term(1)} > {term(1)}:", f"    {draw.choice('xyz')}[i] = {term(2)}"]
        else:
            lines += [
                f"w{number} = f32({term(1)})", "for k in range(3):",
                f"    w{number} = f32(w{number} * {term(1)} + {term(1)})",
                f"{draw.choice('xyz')}[i] = w{number}",
            ]  # fmt: skip
    lines.append(f"{draw.choice('xyz')}[i] = {term(2)}")
    body = "".join([f"        {line}\n" for line in lines])
    text = f"def kernel_{seed}(x, y, z, s, t, n):\n{draw.choice([*HEADS, HEADS[0]])}{body}"
    return cuda.jit(function_of(text, f"kernel_{seed}", SCOPE))
