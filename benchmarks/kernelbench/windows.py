"""Windows of up to three axes over images of one channel, by a program over tiles of results."""

from __future__ import annotations

from math import prod
from typing import Any

from gridlane import tiles

tl = tiles.language

Triple = tuple[int, int, int]
MOST_TAPS = 64
"""Windows of more elements are loops: all taps are written out."""


@tiles.jit
def windowed(
    x, w, out, channels, depth, height, width, layers, lines, places,
    KIND: tl.constexpr, SIZE: tl.constexpr, STRIDE: tl.constexpr, PADDING: tl.constexpr,
    DILATION: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Some lines and places of one layer of one image a program. ``KIND``: ``most`` of a window,
    its ``mean``, or the ``products`` with the weights of the image's channel."""
    down, across = tl.cdiv(lines, ROWS), tl.cdiv(places, COLUMNS)
    program = tl.program_id(0)
    column, row = program % across, program // across % down
    layer, image = program // across // down % layers, program // across // down // layers
    j = (row * ROWS + tl.arange(0, ROWS))[:, None]
    k = (column * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    x += image.to(tl.int64) * (depth * height * width)
    start: tl.constexpr = -float("inf") if KIND == "most" else 0.0
    total = tl.full((ROWS, COLUMNS), start, tl.float32)
    w += image % channels * (SIZE[0] * SIZE[1] * SIZE[2])
    for a in tl.static_range(SIZE[0]):
        z = layer * STRIDE[0] + (a * DILATION[0] - PADDING[0])
        for b in tl.static_range(SIZE[1]):
            y = j * STRIDE[1] + (b * DILATION[1] - PADDING[1])
            known = (z >= 0) & (z < depth) & (y >= 0) & (y < height)
            for c in tl.static_range(SIZE[2]):
                at = k * STRIDE[2] + (c * DILATION[2] - PADDING[2])
                inside = known & (at >= 0) & (at < width)
                values = tl.load(x + (z * height + y) * width + at, mask=inside, other=start)
                if KIND == "most":
                    total = tl.maximum(total, values)
                elif KIND == "mean":
                    total += values
                else:
                    total += values * tl.load(w + (a * SIZE[1] + b) * SIZE[2] + c)
    if KIND == "mean":
        total *= 1.0 / (SIZE[0] * SIZE[1] * SIZE[2])
    out += (image * layers + layer).to(tl.int64) * (lines * places)
    tl.store(out + j * places + k, total, mask=(j < lines) & (k < places))


def is_for(size: tuple[int, ...]) -> bool:
    """Whether a window is small enough."""
    return prod(size) <= MOST_TAPS


def slid(
    kind: str,
    x: Any,
    w: Any,
    ends: tuple[int, ...],
    size: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
) -> Any:
    """The results of a window on images of shape (images, channels, places).

    Args:
        w: the weights of each channel, for ``products``.
        ends: the extents of the result.
    """
    out = x.new_empty((*x.shape[:2], *ends))
    (layers, lines, places), extents = _three(ends, 1), _three(tuple(x.shape[2:]), 1)
    rows, columns = (1, 1024) if lines == 1 else (8, 128)
    grid = x.shape[0] * x.shape[1] * layers * -(-lines // rows) * -(-places // columns)
    windowed[(grid,)](
        x, x if w is None else w, out, x.shape[1], *extents, layers, lines, places, KIND=kind,
        SIZE=_three(size, 1), STRIDE=_three(stride, 1), PADDING=_three(padding, 0),
        DILATION=_three(dilation, 1), ROWS=rows, COLUMNS=columns, num_warps=8,
    )  # fmt: skip
    return out


def _three(numbers: tuple[int, ...], other: int) -> Triple:
    """Numbers of three axes, those in front of the known ones another."""
    z, y, x = (*(other,) * (3 - len(numbers)), *numbers)
    return z, y, x
