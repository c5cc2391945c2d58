"""An order book with risk check and fills. A gateway asks the risk desk for each order, and gives
what it approves to the book, which publishes fills; a tape and the accounts subscribe to them."""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass

import numpy as np

from gridlane import actors
from gridlane.cuda import int32, int64

LEVELS = 16  # prices in ticks
ACCOUNTS = 8
LIMIT = 400  # of what an account has asked for, bought less sold
NEW, APPROVED, REJECTED = 0, 1, 2
WINDOW = 256
"""Orders under way at once, fewer than the gateway's or the desk's inbox holds: they send to each
other, and neither waits for room."""


@actors.message
class Order:
    number: int32
    account: int32
    side: int32  # 1 buys, -1 sells
    price: int32
    size: int32
    status: int32


@actors.message
class Fill:
    number: int32
    account: int32
    price: int32
    size: int32  # below 0 where the account sells


@actors.state
class Counts:
    approved: int64
    rejected: int64


@actors.state
class Tape:
    trades: int64
    volume: int64
    turnover: int64
    checksum: int64


@actors.kernel(state=Counts)
def gateway(ctx, state, order: Order):
    """The host's orders are new; the desk replies with the same order, approved or rejected."""
    if order.status == NEW:
        ctx.send("desk", order)
    elif order.status == APPROVED:
        state.approved += 1
        ctx.send("book", order)
    else:
        state.rejected += 1


@actors.kernel(replies=Order)
def desk(ctx, state, order: Order, exposure):
    """exposure: int32 (accounts,)."""
    wanted = exposure[order.account] + order.side * order.size
    status = APPROVED if -LIMIT <= wanted <= LIMIT else REJECTED
    if status == APPROVED:
        exposure[order.account] = wanted
    ctx.reply(Order(order.number, order.account, order.side, order.price, order.size, status))


@actors.state
class Depth:
    seen: int64


@actors.kernel(state=Depth)
def book(ctx, state, order: Order, bids, asks):
    """Matches an order with the best prices of the other side; the rest waits at its own price.
    bids, asks: int32 (prices,), sizes that wait."""
    state.seen += 1
    left = order.size
    for step in range(LEVELS):
        price = step if order.side > 0 else LEVELS - 1 - step
        is_good = price <= order.price if order.side > 0 else price >= order.price
        there = asks[price] if order.side > 0 else bids[price]
        size = min(left, there)
        if is_good and size > 0:
            left -= size
            if order.side > 0:
                asks[price] = there - size
            else:
                bids[price] = there - size
            ctx.publish("fills", Fill(order.number, order.account, price, order.side * size))
    if order.side > 0:
        bids[order.price] += left
    else:
        asks[order.price] += left


@actors.kernel(state=Tape)
def tape(ctx, state, fill: Fill):
    state.trades += 1
    state.volume += abs(fill.size)
    state.turnover += abs(fill.size) * fill.price
    state.checksum = (state.checksum * 31 + fill.number * 7 + fill.size) % 1_000_000_007


@actors.kernel
def accounts(ctx, state, fill: Fill, positions):
    """positions: int32 (accounts,), bought less sold by orders that found a price at once."""
    positions[fill.account] += fill.size


@dataclass
class Result:
    approved: int
    rejected: int
    tape: tuple[int, ...]
    arrays: list[list[int]]


def reference(orders: np.ndarray) -> Result:
    exposure, positions = [0] * ACCOUNTS, [0] * ACCOUNTS
    sides = {1: [0] * LEVELS, -1: [0] * LEVELS}
    approved = trades = volume = turnover = checksum = 0
    for number, account, side, price, size, _ in orders.tolist():
        wanted = exposure[account] + side * size
        if abs(wanted) > LIMIT:
            continue
        exposure[account] = wanted
        approved += 1
        other, left = sides[-side], size
        for level in range(LEVELS) if side > 0 else reversed(range(LEVELS)):
            matched = min(left, other[level])
            if matched and (level - price) * side <= 0:
                left -= matched
                other[level] -= matched
                positions[account] += side * matched
                trades, volume = trades + 1, volume + matched
                turnover += matched * level
                checksum = (checksum * 31 + number * 7 + side * matched) % 1_000_000_007
        sides[side][price] += left
    counts = trades, volume, turnover, checksum
    return Result(approved, len(orders) - approved, counts, [sides[1], sides[-1], positions])


def random_orders(count: int) -> np.ndarray:
    rng = np.random.default_rng(7)
    orders = np.zeros(count, Order.__gridlane_type__.numpy)
    orders["number"] = np.arange(count)
    orders["account"] = rng.integers(ACCOUNTS, size=count)
    orders["side"] = rng.choice([-1, 1], count)
    orders["price"] = rng.integers(LEVELS, size=count)
    orders["size"] = rng.integers(1, 100, count)
    return orders


def trade(device: str, orders: np.ndarray) -> tuple[Result, float]:
    """What the actors make of the orders, and the milliseconds for them."""
    with actors.Runtime(device=device) as runtime:
        runtime.topic("fills", Fill)
        levels, people = np.zeros(LEVELS, np.int32), np.zeros(ACCOUNTS, np.int32)
        printed = runtime.launch(tape, capacity=1024)
        ledger = runtime.launch(accounts, capacity=1024, args=(people,))
        for each in (printed, ledger):
            runtime.subscribe(each, "fills.#")
        books = runtime.launch(book, capacity=1024, args=(levels, levels), emits=LEVELS)
        risk = runtime.launch(desk, capacity=2 * WINDOW, args=(people,))
        entry = runtime.launch(gateway, capacity=2 * WINDOW)
        for each in (printed, ledger, books, risk, entry):
            each.activate()

        counts, begin = Counts(0, 0), time.perf_counter()
        for first in range(0, len(orders), WINDOW):
            part = orders[first : first + WINDOW]
            entry.post_many(part)
            while counts.approved + counts.rejected < first + len(part):
                time.sleep(0.0001)
                counts = entry.read_state()
        time_ms = (time.perf_counter() - begin) * 1e3
        for each in (entry, risk, books, printed, ledger):
            each.terminate()  # each handles what it has; the last ones have all fills then
        lost = runtime.dead_letters()
        if lost:
            sys.exit(f"actors_orderbook: {len(lost)} dead letters")
        state = printed.read_state()
        arrays = [*books.arrays, *ledger.arrays]
        found = [each.copy_to_host().tolist() for each in arrays]
    told = state.trades, state.volume, state.turnover, state.checksum
    return Result(counts.approved, counts.rejected, told, found), time_ms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default=os.environ.get("GRIDLANE_DEVICE", "cpu"))
    parser.add_argument("--orders", type=int, default=100_000)
    args = parser.parse_args()

    orders = random_orders(args.orders)
    result, time_ms = trade(args.device, orders)
    expected = reference(orders)
    if result != expected:
        sys.exit(f"actors_orderbook: wrong, {result} instead of {expected}")
    print(
        f"actors_orderbook: {args.orders} orders, {result.rejected} rejected, {result.tape[0]} "
        f"fills of {result.tape[1]}, {time_ms:.1f} ms"
    )


if __name__ == "__main__":
    main()
