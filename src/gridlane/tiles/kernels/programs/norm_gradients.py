"""Gradients of layer and RMS normalisation.

The first kernel goes over rows and keeps their statistics, the second one over columns, so that
sums are added in one order on every device and in every run.
"""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.norms import row_statistics


@jit
def norm_gradient_rows(
    grad, x, weight, out, means, scales, columns, weight_step, grad_steps, x_steps, out_steps,
    CENTRED: tl.constexpr, EPS: tl.constexpr, WHOLE: tl.constexpr, BLOCK: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The gradient of one row's input; its mean and the reciprocal of its deviation are kept."""
    grad_row, grad_step = grad_steps
    x_row, x_step = x_steps
    out_row, out_step = out_steps
    row = tl.program_id(0).to(INDEX)
    grad += row * grad_row
    x += row * x_row
    out += row * out_row
    mean, scale = row_statistics(x, columns, x_step, CENTRED, EPS, BLOCK, SUM, INDEX)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    i = tl.arange(0, BLOCK).to(INDEX)
    along = tl.zeros((), SUM)
    plain = tl.zeros((), SUM)
    for begin in range(0, columns, BLOCK):
        at = i + begin
        inside = at < columns
        g = tl.load(grad + at * grad_step, mask=inside, other=0.0).to(SUM)
        if weight is not None:
            g *= tl.load(weight + at * weight_step, mask=inside, other=0.0).to(SUM)
        values = tl.load(x + at * x_step, mask=inside, other=0.0).to(SUM)
        along += tl.sum(g * ((values - mean) * scale), axis=0)
        if CENTRED:
            plain += tl.sum(g, axis=0)
    along = along / columns
    plain = plain / columns
    for begin in range(0, columns, BLOCK):
        at = i + begin
        inside = at < columns
        g = tl.load(grad + at * grad_step, mask=inside, other=0.0).to(SUM)
        if weight is not None:
            g *= tl.load(weight + at * weight_step, mask=inside, other=0.0).to(SUM)
        values = tl.load(x + at * x_step, mask=inside, other=0.0).to(SUM)
        shown = (g - plain - (values - mean) * scale * along) * scale
        tl.store(out + at * out_step, shown, mask=inside)


@jit
def norm_gradient_columns(
    grad, x, means, scales, weight, bias, rows, columns, grad_steps, x_steps,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The gradients of some columns' weights and biases."""
    grad_row, grad_step = grad_steps
    x_row, x_step = x_steps
    j = (tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)).to(INDEX)
    i = tl.arange(0, ROWS).to(INDEX)
    along = tl.zeros((ROWS, COLUMNS), SUM)
    plain = tl.zeros((ROWS, COLUMNS), SUM)
    for begin in range(0, rows, ROWS):
        at = i + begin
        inside = (at[:, None] < rows) & (j[None, :] < columns)
        where = grad + at[:, None] * grad_row + j[None, :] * grad_step
        g = tl.load(where, mask=inside, other=0.0).to(SUM)
        if weight is not None:
            where = x + at[:, None] * x_row + j[None, :] * x_step
            values = tl.load(where, mask=inside, other=0.0).to(SUM)
            mean = tl.load(means + at, mask=at < rows, other=0.0)
            scale = tl.load(scales + at, mask=at < rows, other=0.0)
            along += g * ((values - mean[:, None]) * scale[:, None])
        if bias is not None:
            plain += g
    if weight is not None:
        tl.store(weight + j, tl.sum(along, axis=0), mask=j < columns)
    if bias is not None:
        tl.store(bias + j, tl.sum(plain, axis=0), mask=j < columns)
