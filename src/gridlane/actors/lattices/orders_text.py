"""The text by which a block polls its orders, at the step that it was ordered to reach."""

from __future__ import annotations

from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.lattices.orders import (
    GOAL,
    HEAD,
    HEARTBEAT,
    LAST,
    LEAVES,
    POSTED,
    RECEIVED,
    SEEN,
    SLOTS,
    STEP,
    WISH,
)
from gridlane.actors.values.messages import shape_of
from gridlane.actors.values.states import State
from gridlane.core.generated_text import indented

LINGER = 4000
"""Polls without an order after which the blocks leave, some 10 ms. Other work that waits for the
device, such as the loading of another kernel, waits no longer than that."""


def look_text(lattice: Lattice) -> list[str]:
    """Lines for thread 0, which set ``until`` and ``leave``; ``step`` is the block's step."""
    return [
        f"store_volatile(marks, (block, {STEP}), cuda.uint64(step))",
        "leave, looks, waiting = 0, 0, True",
        "while waiting:",
        "    if block == 0:",
        *indented(_read_orders(), 2),
        "    else:",
        *indented(_read_relay(), 2),
        "    if seen < posted:",
        "        cuda.threadfence_system()",
        "    while seen < posted and _stamp(ring, seen) == step:",
        *indented(_handle(lattice), 2),
        "        seen += 1",
        "    if block == 0 and goal == step and seen == posted and (wish or looks >= linger):",
        *indented(_decide(), 2),
        "    if goal > step:",
        "        until, waiting = goal, False",
        "        if seen < posted:",
        "            until = min(goal, _stamp(ring, seen))",
        "    elif last == step + 1:",
        "        leave, waiting = 1, False",
        "    else:",
        "        looks += 1",
        "        cuda.nanosleep(500)",
        f"store_volatile(marks, (block, {SEEN}), cuda.uint64(seen))",
    ]


def _read_orders() -> list[str]:
    return [
        "last = 0",
        f"wish = load_volatile(orders, {WISH}) != 0",
        f"goal = cuda.int64(load_volatile(orders, {GOAL}))",
        "cuda.threadfence_system()",
        f"posted = cuda.int64(load_volatile(orders, {POSTED}))",
        f"store_volatile(relay, {POSTED}, cuda.uint64(posted))",
        "cuda.threadfence()",
        f"store_volatile(relay, {GOAL}, cuda.uint64(goal))",
        f"store_volatile(control, {HEARTBEAT}, load_volatile(control, {HEARTBEAT}) + "
        "cuda.uint64(1))",
    ]


def _read_relay() -> list[str]:
    return [
        "wish = False",
        f"last = cuda.int64(load_volatile(relay, {LAST}))",
        "cuda.threadfence()",
        f"goal = cuda.int64(load_volatile(relay, {GOAL}))",
        "cuda.threadfence()",
        f"posted = cuda.int64(load_volatile(relay, {POSTED}))",
    ]


def _decide() -> list[str]:
    """The first block decides: all leave at this step."""
    return [
        f"store_volatile(control, {RECEIVED}, cuda.uint64(seen))",
        f"store_volatile(control, {LEAVES}, cuda.uint64({State.DEACTIVATED.value}))",
        "cuda.threadfence()",
        "last = step + 1",
        f"store_volatile(relay, {LAST}, cuda.uint64(last))",
    ]


def _handle(lattice: Lattice) -> list[str]:
    """Copy a message to the block's own memory, and handle it."""
    lines = [f"slot = seen % {SLOTS}", "kind_of = load_volatile(ring, (slot, 2))"]
    for number, cls in enumerate(lattice.handlers):
        words = -(-shape_of(cls, "message").layout.size // 4)
        lines += [
            f"if kind_of == {number}:",
            f"    for n in range({words}):",
            f"        word = load_volatile(ring, (slot, {HEAD} + n))",
            f"        letters_{number}[block * {words} + n] = word",
            f"    letter_{number} = letters_{number}.view(Record_{number})",
            f"    handle_{number}(Handling(step), state[block], letter_{number}[block])",
        ]
    return lines
