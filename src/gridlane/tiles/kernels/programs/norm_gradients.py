"""Gradients of layer and RMS normalisation: each program adds up what its rows add to the gradients
of weights and biases, and a second kernel adds the sums of all programs in order."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.norms import row_statistics


@jit
def weighted(grad, weight, i, inside, grad_step, weight_step, SUM: tl.constexpr):
    """A row's gradient, and the same times the weight."""
    g = tl.load(grad + i * grad_step, mask=inside, other=0.0).to(SUM)
    if weight is None:
        return g, g
    return g, g * tl.load(weight + i * weight_step, mask=inside, other=0.0).to(SUM)


@jit
def whole_row_gradient(
    grad, x, weight, out, total, shift, columns, grad_step, x_step, weight_step, out_step,
    weight_sums, bias_sums, CENTRED: tl.constexpr, EPS: tl.constexpr, BLOCK: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The gradient of a row in one tile; the sums with what it adds to those of weights and
    biases."""
    i = tl.arange(0, BLOCK).to(INDEX)
    inside = i < columns
    values = tl.load(x + i * x_step, mask=inside, other=0.0).to(SUM)
    if CENTRED:
        values = tl.where(inside, values - tl.sum(values, axis=0) / columns, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(values * values, axis=0) / columns + EPS)
    values *= scale
    g, part = weighted(grad, weight, i, inside, grad_step, weight_step, SUM)
    if weight_sums is not None:
        total += g * values
    if bias_sums is not None:
        shift += g
    shown = part - values * (tl.sum(part * values, axis=0) / columns)
    if CENTRED:
        shown -= tl.sum(part, axis=0) / columns
    tl.store(out + i * out_step, shown * scale, mask=inside)
    return total, shift


@jit
def add_to(sums, i, inside, more):
    """Add to elements of an array, if there is one."""
    if sums is not None:
        tl.store(sums + i, tl.load(sums + i, mask=inside, other=0.0) + more, mask=inside)


@jit
def row_gradient(
    grad, x, weight, out, weight_sums, bias_sums, columns, grad_step, x_step, weight_step, out_step,
    CENTRED: tl.constexpr, EPS: tl.constexpr, BLOCK: tl.constexpr, SUM: tl.constexpr,
    INDEX: tl.constexpr,
):  # fmt: skip
    """The gradient of a row in several tiles. What it adds to those of weights and biases is added
    in memory."""
    i = tl.arange(0, BLOCK).to(INDEX)
    mean, scale = row_statistics(x, columns, x_step, CENTRED, EPS, BLOCK, SUM, INDEX)
    along = tl.zeros((), SUM)
    plain = tl.zeros((), SUM)
    for begin in range(0, columns, BLOCK):
        at = i + begin
        inside = at < columns
        g, part = weighted(grad, weight, at, inside, grad_step, weight_step, SUM)
        values = tl.load(x + at * x_step, mask=inside, other=0.0).to(SUM)
        values = (values - mean) * scale
        along += tl.sum(part * values, axis=0)
        if CENTRED:
            plain += tl.sum(part, axis=0)
        add_to(weight_sums, at, inside, g * values)
        add_to(bias_sums, at, inside, g)
    along = along / columns
    plain = plain / columns
    for begin in range(0, columns, BLOCK):
        at = i + begin
        inside = at < columns
        g, part = weighted(grad, weight, at, inside, grad_step, weight_step, SUM)
        values = tl.load(x + at * x_step, mask=inside, other=0.0).to(SUM)
        shown = (part - plain - (values - mean) * scale * along) * scale
        tl.store(out + at * out_step, shown, mask=inside)


@jit(do_not_specialize=("rows",))
def norm_gradient_rows(
    grad, x, weight, out, weight_sums, bias_sums, rows, columns, weight_step,
    grad_steps, x_steps, out_steps,
    CENTRED: tl.constexpr, EPS: tl.constexpr, WHOLE: tl.constexpr, BLOCK: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The gradients of some rows' inputs, and the sums of what they add to those of weights and
    biases: a row of ``weight_sums`` and ``bias_sums``, which are 0."""
    grad_row, grad_step = grad_steps
    x_row, x_step = x_steps
    out_row, out_step = out_steps
    i = tl.arange(0, BLOCK).to(INDEX)
    first = tl.program_id(0)
    if weight_sums is not None:
        weight_sums += first.to(INDEX) * columns
    if bias_sums is not None:
        bias_sums += first.to(INDEX) * columns
    total = tl.zeros((BLOCK,), SUM)
    shift = tl.zeros((BLOCK,), SUM)
    for row in range(first, rows, tl.num_programs(0)):
        my_grad = grad + tl.cast(row, INDEX) * grad_row
        my_x = x + tl.cast(row, INDEX) * x_row
        my_out = out + tl.cast(row, INDEX) * out_row
        if WHOLE:
            total, shift = whole_row_gradient(
                my_grad, my_x, weight, my_out, total, shift, columns, grad_step, x_step,
                weight_step, out_step, weight_sums, bias_sums, CENTRED, EPS, BLOCK, SUM, INDEX,
            )  # fmt: skip
        else:
            row_gradient(
                my_grad, my_x, weight, my_out, weight_sums, bias_sums, columns, grad_step, x_step,
                weight_step, out_step, CENTRED, EPS, BLOCK, SUM, INDEX,
            )  # fmt: skip
    if WHOLE:
        if weight_sums is not None:
            tl.store(weight_sums + i, total, mask=i < columns)
        if bias_sums is not None:
            tl.store(bias_sums + i, shift, mask=i < columns)


@jit(do_not_specialize=("rows",))
def add_rows(
    sums, out, rows, columns,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The sums of some columns of contiguous rows."""
    j = (tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)).to(INDEX)
    i = tl.arange(0, ROWS).to(INDEX)
    total = tl.zeros((ROWS, COLUMNS), SUM)
    for begin in range(0, rows, ROWS):
        at = i + begin
        inside = (at[:, None] < rows) & (j[None, :] < columns)
        total += tl.load(sums + at[:, None] * columns + j[None, :], mask=inside, other=0.0)
    tl.store(out + j, tl.sum(total, axis=0), mask=j < columns)
