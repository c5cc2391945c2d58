"""Functions of ``gridlane.tiles.kernels`` beside torch's; see ``tiles.py``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from benchmarks.nvidia.tiles import Case, Maker, Sides

FLOATS = [(2048,) * 3, (4096,) * 3, (8192,) * 3, (8192, 1024, 512), (512, 512, 8192)]
"""Products of float32: rows, columns, the inner extent; the last two have few tiles."""
BYTES = [
    (8192,) * 3, (4096,) * 3, (2048,) * 3, (2048, 4096, 7168), (128, 8192, 8192), (64, 4096, 7168),
    (16, 8192, 8192), (1, 7168, 2048),
]  # fmt: skip
"""Those of floats of 8 bits."""
DECODES = [
    (1, 32, 32, 8192),
    (1, 32, 8, 8192),
    (1, 64, 8, 32768),
    (8, 32, 8, 8192),
    (32, 32, 8, 4096),
]
"""Sequences, heads, heads of keys, and tokens of a sequence."""
PAGES = (64, 128)
"""Tokens of a page."""
WIDTH = 128
SMALL = [(64, 96, 64), (50, 33, 48)]


def cases(sides: Sides) -> Iterator[tuple[str, Maker]]:
    """The cases by name."""
    for kind, shapes in (("f32", FLOATS), ("fp8", BYTES)):
        for shape in SMALL if sides.small else shapes:
            name = f"matmul {kind} {'x'.join(map(str, shape))}"
            yield name, partial(product, sides, kind, shape)
    for page in (16,) if sides.small else PAGES:
        for given in [(2, 4, 2, 64)] if sides.small else DECODES:
            name = f"decode {'x'.join(map(str, given))} pages {page}"
            yield name, partial(decode, sides, *given, page)


def product(sides: Sides, kind: str, shape: tuple[int, int, int]) -> Case:
    """A product of float32 with all its bits, or of floats of 8 bits as bfloat16."""
    from benchmarks.nvidia.tiles import Case

    from gridlane.tiles import kernels

    m, n, k = shape
    rng, dtype = np.random.default_rng(4), np.float32 if kind == "f32" else ml_dtypes.float8_e4m3fn
    host = [sides.random(rng, each, dtype) for each in ((m, k), (n, k))]
    a, b = map(sides.array, host)
    kept = np.float32 if kind == "f32" else ml_dtypes.bfloat16
    out = sides.array(np.zeros((m, n), kept))
    name = np.dtype(kept).name
    runs: dict[str, Any] = {"gridlane": lambda: kernels.matmul(a, b.T, out, out_dtype=name)}
    torch = sides.torch
    if torch is not None and kind == "f32":
        torch.backends.cuda.matmul.allow_tf32 = False
        runs["torch"] = lambda: a @ b.t()
    elif torch is not None:
        one = torch.ones((), device=a.device)
        runs["torch"] = lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16)

    def exact() -> np.ndarray:
        return host[0].astype(np.float64) @ host[1].astype(np.float64).T

    near = 2e-5 if kind == "f32" else 1.6e-2
    return Case(runs, 2.0 * m * n * k, "TFLOP/s", exact if sides.small else None, near)


def decode(sides: Sides, sequences: int, heads: int, far: int, tokens: int, page: int) -> Case:
    """Attention of the newest token of each sequence: gridlane's to pages in order, torch's to keys
    and values in one piece."""
    from benchmarks.nvidia.tiles import Case

    from gridlane.tiles import kernels

    rng, pages = np.random.default_rng(5), tokens // page
    shapes = (sequences, heads, WIDTH), *2 * [(sequences * pages, page, far, WIDTH)]
    host = [sides.random(rng, shape, np.float16) for shape in shapes]
    q, k, v = map(sides.array, host)
    numbers = np.arange(sequences * pages, dtype=np.int32).reshape(sequences, pages)
    tables, lengths = map(sides.array, (numbers, np.full(sequences, tokens, np.int32)))
    out = sides.array(np.zeros((sequences, heads, WIDTH), np.float16))
    runs: dict[str, Any] = {
        "gridlane": lambda: kernels.paged_attention(q, k, v, tables, lengths, out)
    }
    if sides.torch is not None:
        attend = sides.torch.nn.functional.scaled_dot_product_attention
        keys, values = (each.view(sequences, tokens, far, WIDTH).transpose(1, 2) for each in (k, v))
        runs["torch"] = lambda: attend(
            q[:, :, None], keys, values, enable_gqa=heads != far
        ).squeeze(2)

    def exact() -> np.ndarray:
        x = host[0].astype(np.float64)
        y, z = (
            np.repeat(each.reshape(sequences, tokens, far, WIDTH), heads // far, 2)
            .astype(np.float64).transpose(0, 2, 1, 3)
            for each in host[1:]
        )  # fmt: skip
        scores = np.einsum("shw,shtw->sht", x, y) / math.sqrt(WIDTH)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        return np.einsum("sht,shtw->shw", powers / powers.sum(-1, keepdims=True), z)

    read = 2.0 * 2 * sequences * tokens * far * WIDTH
    return Case(runs, read, "GB/s", exact if sides.small else None, 4e-3)
