"""Cross entropy of logits and class numbers, and its gradient, without the probabilities in memory.

A row is read once for the logarithm of the sum of its exponentials (as in ``softmax``) and once
more for the gradient.
"""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit


@jit
def log_sum(
    x, columns, x_step, BLOCK: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr
):  # fmt: skip
    """The logarithm of the sum of a row's exponentials."""
    i = tl.arange(0, BLOCK).to(INDEX)
    most = tl.full((), -float("inf"), SUM)
    total = tl.zeros((), SUM)
    for begin in range(0, columns, BLOCK):
        at = i + begin
        values = tl.load(x + at * x_step, mask=at < columns, other=-float("inf")).to(SUM)
        higher = tl.maximum(most, tl.max(values, axis=0))
        shift = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(most - shift) + tl.sum(tl.exp(values - shift), axis=0)
        most = higher
    return most + tl.log(total)


@jit(do_not_specialize=("ignored",))
def cross_entropy_rows(
    x, targets, out, columns, target_step, out_step, x_steps, ignored,
    SMOOTHING: tl.constexpr, BLOCK: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The loss of one row."""
    x_row, x_step = x_steps
    row = tl.program_id(0).to(INDEX)
    x += row * x_row
    target = tl.load(targets + row * target_step)
    loss = tl.zeros((), SUM)
    if target != ignored:
        whole = log_sum(x, columns, x_step, BLOCK, SUM, INDEX)
        known = (target >= 0) & (target < columns)
        at = x + target.to(INDEX) * x_step
        loss = whole - tl.load(at, mask=known, other=float("nan")).to(SUM)
        if SMOOTHING != 0:
            i = tl.arange(0, BLOCK).to(INDEX)
            total = tl.zeros((), SUM)
            for begin in range(0, columns, BLOCK):
                places = i + begin
                values = tl.load(x + places * x_step, mask=places < columns, other=0.0).to(SUM)
                total += tl.sum(values, axis=0)
            loss = loss * (1.0 - SMOOTHING) + (whole - total / columns) * SMOOTHING
    tl.store(out + row * out_step, loss)


@jit(do_not_specialize=("rows", "ignored"))
def add_losses(
    losses, targets, total, count, rows, target_step, ignored,
    MEAN: tl.constexpr, BLOCK: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The sum or mean of losses, or the number of rows that are not ignored, by one program."""
    i = tl.arange(0, BLOCK).to(INDEX)
    sums = tl.zeros((BLOCK,), SUM)
    counts = tl.zeros((BLOCK,), SUM)
    for begin in range(0, rows, BLOCK):
        at = i + begin
        inside = at < rows
        if losses is not None:
            sums += tl.load(losses + at, mask=inside, other=0.0)
        if MEAN:
            taken = tl.load(targets + at * target_step, mask=inside, other=0) != ignored
            counts += tl.where(inside & taken, 1.0, 0.0)
    if losses is not None:
        whole = tl.sum(sums, axis=0)
        if MEAN:
            whole = whole / tl.sum(counts, axis=0)
        tl.store(total, whole)
    else:
        tl.store(count, tl.sum(counts, axis=0))


@jit(do_not_specialize=("ignored",))
def cross_entropy_gradient_rows(
    grad, count, x, targets, out, columns, grad_step, target_step, x_steps, out_steps, ignored,
    SMOOTHING: tl.constexpr, BLOCK: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The gradient of one row's logits."""
    x_row, x_step = x_steps
    out_row, out_step = out_steps
    row = tl.program_id(0).to(INDEX)
    x += row * x_row
    out += row * out_row
    i = tl.arange(0, BLOCK).to(INDEX)
    target = tl.load(targets + row * target_step)
    taken = target != ignored
    scale = tl.load(grad + row * grad_step).to(SUM)
    if count is not None:
        scale = scale / tl.load(count)
    if taken & ((target < 0) | (target >= columns)):
        scale = tl.full((), float("nan"), SUM)
    share = tl.full((), SMOOTHING, SUM) / columns
    whole = log_sum(x, columns, x_step, BLOCK, SUM, INDEX)
    for begin in range(0, columns, BLOCK):
        at = i + begin
        inside = at < columns
        values = tl.load(x + at * x_step, mask=inside, other=0.0).to(SUM)
        hit = (at == target).to(SUM) * (1.0 - SMOOTHING)
        shown = (tl.exp(values - whole) - hit - share) * scale
        tl.store(out + at * out_step, tl.where(taken, shown, 0.0), mask=inside)
