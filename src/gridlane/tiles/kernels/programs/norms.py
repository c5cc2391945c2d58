"""Layer normalisation (Ba, Kiros & Hinton 2016) and RMS normalisation (Zhang & Sennrich 2019) of
the last axis. The variance is that of centred elements, so it loses nothing where the mean is
large."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit


@jit
def norm_rows(
    x, weight, bias, out, columns, weight_step, bias_step, x_steps, out_steps,
    CENTRED: tl.constexpr, EPS: tl.constexpr, WHOLE: tl.constexpr, BLOCK: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """One row a program; steps are those of rows and of columns."""
    x_row, x_step = x_steps
    out_row, out_step = out_steps
    row = tl.program_id(0).to(INDEX)
    i = tl.arange(0, BLOCK).to(INDEX)
    x += row * x_row
    out += row * out_row
    if WHOLE:
        inside = i < columns
        values = tl.load(x + i * x_step, mask=inside, other=0.0).to(SUM)
        if CENTRED:
            values = tl.where(inside, values - tl.sum(values, axis=0) / columns, 0.0)
        scale = 1.0 / tl.sqrt(tl.sum(values * values, axis=0) / columns + EPS)
        shown = values * scale
        if weight is not None:
            shown *= tl.load(weight + i * weight_step, mask=inside).to(SUM)
        if bias is not None:
            shown += tl.load(bias + i * bias_step, mask=inside).to(SUM)
        tl.store(out + i * out_step, shown, mask=inside)
    else:
        mean, scale = row_statistics(x, columns, x_step, CENTRED, EPS, BLOCK, SUM, INDEX)
        for begin in range(0, columns, BLOCK):
            at = i + begin
            inside = at < columns
            values = tl.load(x + at * x_step, mask=inside, other=0.0).to(SUM)
            shown = (values - mean) * scale
            if weight is not None:
                shown *= tl.load(weight + at * weight_step, mask=inside).to(SUM)
            if bias is not None:
                shown += tl.load(bias + at * bias_step, mask=inside).to(SUM)
            tl.store(out + at * out_step, shown, mask=inside)


@jit
def row_statistics(
    x, columns, x_step,
    CENTRED: tl.constexpr, EPS: tl.constexpr, BLOCK: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """A row's mean, or 0, and the reciprocal of its deviation."""
    i = tl.arange(0, BLOCK).to(INDEX)
    mean = tl.zeros((), SUM)
    if CENTRED:
        for begin in range(0, columns, BLOCK):
            at = i + begin
            values = tl.load(x + at * x_step, mask=at < columns, other=0.0).to(SUM)
            mean += tl.sum(values, axis=0)
        mean = mean / columns
    squares = tl.zeros((), SUM)
    for begin in range(0, columns, BLOCK):
        at = i + begin
        inside = at < columns
        values = tl.load(x + at * x_step, mask=inside, other=0.0).to(SUM)
        centred = tl.where(inside, values - mean, 0.0)
        squares += tl.sum(centred * centred, axis=0)
    return mean, 1.0 / tl.sqrt(squares / columns + EPS)
