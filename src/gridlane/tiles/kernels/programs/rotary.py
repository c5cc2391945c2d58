"""Rotary position embedding (Su et al., "RoFormer", 2021)."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit


@jit
def load_turns(base, i, j, steps, known, SUM: tl.constexpr):
    """Sines or cosines of some positions and pairs; NaN for those that are not known."""
    where = base + i[:, None] * steps[0] + j[None, :] * steps[1]
    return tl.load(where, mask=known, other=float("nan")).to(SUM)


@jit(do_not_specialize=("heads", "length", "count"))
def rope_tiles(
    x, cos, sin, positions, out, heads, length, count, half, width,
    x_steps, cos_steps, sin_steps, position_steps, out_steps,
    PAIRS: tl.constexpr, INVERSE: tl.constexpr, LENGTH: tl.constexpr, HALF: tl.constexpr,
    REST: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Some positions of one head a program; steps are those of (batch, head, length, width).
    Elements behind the pairs stay; ``REST`` of them at most, 0 for none."""
    blocks = tl.cdiv(length, LENGTH)
    place = tl.program_id(0)
    head = (place // blocks % heads).to(INDEX)
    batch = (place // blocks // heads).to(INDEX)
    i = ((place % blocks) * LENGTH + tl.arange(0, LENGTH)).to(INDEX)
    j = tl.arange(0, HALF).to(INDEX)
    inside = (i[:, None] < length) & (j[None, :] < half)
    where = i
    if positions is not None:
        at = positions + batch * position_steps[0] + i * position_steps[1]
        where = tl.load(at, mask=i < length, other=0)
    known = inside & (where >= 0)[:, None] & (where < count)[:, None]
    where = where.to(INDEX)
    c = load_turns(cos, where, j, cos_steps, known, SUM)
    s = load_turns(sin, where, j, sin_steps, known, SUM)
    if INVERSE:
        s = -s
    first = j * 2 if PAIRS else j
    second = first + 1 if PAIRS else j + half
    x += batch * x_steps[0] + head * x_steps[1]
    x_rows = x + i[:, None] * x_steps[2]
    a = tl.load(x_rows + first[None, :] * x_steps[3], mask=inside, other=0.0).to(SUM)
    b = tl.load(x_rows + second[None, :] * x_steps[3], mask=inside, other=0.0).to(SUM)
    out += batch * out_steps[0] + head * out_steps[1]
    out_rows = out + i[:, None] * out_steps[2]
    tl.store(out_rows + first[None, :] * out_steps[3], a * c - b * s, mask=inside)
    tl.store(out_rows + second[None, :] * out_steps[3], b * c + a * s, mask=inside)
    if REST > 0:
        e = half * 2 + tl.arange(0, REST).to(INDEX)
        inside = (i[:, None] < length) & (e[None, :] < width)
        rest = tl.load(x_rows + e[None, :] * x_steps[3], mask=inside, other=0.0)
        tl.store(out_rows + e[None, :] * out_steps[3], rest, mask=inside)
