"""Softmax and its logarithm along an axis, and their gradients.

A row that fits into one tile is read once. A longer one is read twice: the first pass keeps the
largest element so far and the sum of the exponentials, which it scales when the largest changes
(Milakov & Gimelshein, "Online normalizer calculation for softmax", 2018).
"""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit


@jit
def _start(step_out, step_in, inner, INDEX: tl.constexpr):
    """The offset of a program's row among (outer, inner) rows."""
    row = tl.program_id(0)
    return (row // inner).to(INDEX) * step_out + (row % inner).to(INDEX) * step_in


@jit(do_not_specialize=("inner",))
def softmax_rows(
    x, out, columns, inner, x_steps, out_steps,
    LOG: tl.constexpr, WHOLE: tl.constexpr, BLOCK: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """One row a program; steps are those of outer rows, of inner rows and of columns."""
    x_outer, x_inner, x_step = x_steps
    out_outer, out_inner, out_step = out_steps
    x += _start(x_outer, x_inner, inner, INDEX)
    out += _start(out_outer, out_inner, inner, INDEX)
    i = tl.arange(0, BLOCK).to(INDEX)
    if WHOLE:
        inside = i < columns
        values = tl.load(x + i * x_step, mask=inside, other=-float("inf")).to(SUM)
        centred = values - tl.max(values, axis=0)
        powers = tl.exp(centred)
        total = tl.sum(powers, axis=0)
        if LOG:
            tl.store(out + i * out_step, centred - tl.log(total), mask=inside)
        else:
            tl.store(out + i * out_step, powers / total, mask=inside)
    else:
        # While there are elements of -inf alone, the weight is 0.
        most = tl.full((), -float("inf"), SUM)
        total = tl.zeros((), SUM)
        for begin in range(0, columns, BLOCK):
            at = i + begin
            values = tl.load(x + at * x_step, mask=at < columns, other=-float("inf")).to(SUM)
            higher = tl.maximum(most, tl.max(values, axis=0))
            shift = tl.where(higher == -float("inf"), 0.0, higher)
            total = total * tl.exp(most - shift) + tl.sum(tl.exp(values - shift), axis=0)
            most = higher
        for begin in range(0, columns, BLOCK):
            at = i + begin
            inside = at < columns
            values = tl.load(x + at * x_step, mask=inside, other=0.0).to(SUM)
            if LOG:
                shown = values - most - tl.log(total)
            else:
                shown = tl.exp(values - most) / total
            tl.store(out + at * out_step, shown, mask=inside)


@jit(do_not_specialize=("inner",))
def softmax_gradient_rows(
    grad, y, out, columns, inner, grad_steps, y_steps, out_steps,
    LOG: tl.constexpr, WHOLE: tl.constexpr, BLOCK: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """One row a program, of y * (grad - sum(grad * y)), or grad - exp(y) * sum(grad) of
    logarithms."""
    grad_outer, grad_inner, grad_step = grad_steps
    y_outer, y_inner, y_step = y_steps
    out_outer, out_inner, out_step = out_steps
    grad += _start(grad_outer, grad_inner, inner, INDEX)
    y += _start(y_outer, y_inner, inner, INDEX)
    out += _start(out_outer, out_inner, inner, INDEX)
    i = tl.arange(0, BLOCK).to(INDEX)
    total = tl.zeros((), SUM)
    for begin in range(0, columns, BLOCK):
        at = i + begin
        inside = at < columns
        g = tl.load(grad + at * grad_step, mask=inside, other=0.0).to(SUM)
        if LOG:
            total += tl.sum(g, axis=0)
        else:
            total += tl.sum(g * tl.load(y + at * y_step, mask=inside, other=0.0).to(SUM), axis=0)
    for begin in range(0, columns, BLOCK):
        at = i + begin
        inside = at < columns
        g = tl.load(grad + at * grad_step, mask=inside, other=0.0).to(SUM)
        v = tl.load(y + at * y_step, mask=inside, other=0.0).to(SUM)
        shown = g - tl.exp(v) * total if LOG else v * (g - total)
        tl.store(out + at * out_step, shown, mask=inside)
