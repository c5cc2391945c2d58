"""Actors that several tests launch."""

from __future__ import annotations

from gridlane import actors, cuda
from gridlane.cuda import float32, int32, int64, uint32


@actors.message
class Order:
    price: float32
    size: int32


@actors.message
class Fill:
    price: float32
    size: int32


@actors.state
class Book:
    best: float32
    seen: int64


@actors.kernel(state=Book, replies=Fill)
def book(ctx, state, order: Order):
    state.seen += 1
    if order.price > state.best:
        state.best = order.price
    ctx.reply(Fill(state.best, order.size - 1))


@actors.message
class Number:
    value: int64


@actors.state
class Total:
    value: int64
    seen: int64


@actors.kernel(state=Total, replies=Number)
def total(ctx, state, number: Number):
    """Fails for negative numbers."""
    state.seen += 1
    if number.value < 0:
        raise ValueError("negative")
    state.value += number.value
    ctx.reply(Number(state.value))


@actors.kernel(state=Total, replies=Number)
def looping(ctx, state, number: Number):
    """Does not end for 1,000,000."""
    while number.value == 1_000_000:
        cuda.threadfence()
    state.value += number.value
    ctx.reply(Number(state.value))


@actors.message
class Ball:
    left: int32
    to: uint32
    back: uint32


@actors.kernel(state=Total)
def player(ctx, state, ball: Ball):
    state.seen += 1
    if ball.left > 0:
        ctx.send_to(ball.to, Ball(ball.left - 1, ball.back, ball.to))


@actors.kernel(state=Total)
def relay(ctx, state, number: Number):
    """Sends each number to ``total``, and counts the replies by their values."""
    state.seen += 1
    if number.value < 1000:
        ctx.send("total", Number(1000 + number.value))
    else:
        state.value = number.value


@actors.kernel(state=Total, replies=Number, threads=32)
def together(ctx, state, number: Number):
    """The sum of 0 to 31 times the number, by a block."""
    parts = cuda.shared.array(32, int64)
    parts[ctx.thread] = number.value * ctx.thread
    cuda.syncthreads()
    if ctx.thread == 0:
        whole = int64(0)
        for i in range(32):
            whole += parts[i]
        state.value = whole
        ctx.reply(Number(whole))
    cuda.syncthreads()


@actors.state
class Last:
    wrong: int64
    last: int64[8]


@actors.kernel(state=Last)
def ordered(ctx, state, number: Number):
    """Counts numbers that are not the next of their producer, who has 2,000 of them."""
    producer = number.value // 2000
    expected = state.last[producer] + 1
    if number.value % 2000 == 0:
        expected = number.value
    if number.value != expected:
        state.wrong += 1
    state.last[producer] = number.value
