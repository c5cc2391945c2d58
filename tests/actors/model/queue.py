"""The bounded queue of engine/queue.h: two producers, one consumer, two slots.

A slot has a payload (the header but its turn, and the bytes behind it) and a turn. ``received`` and
``claimed`` are the model's own. ``change`` names what a mutant leaves out or does otherwise.
"""

from __future__ import annotations

from typing import Any

from tests.actors.model.checker import BLOCKED, Memory, Model, Order, Process, View, step

CAPACITY = 2


def lap(ticket: int) -> int:
    """gl_lap."""
    return 2 * (ticket // CAPACITY)


def producer(number: int, messages: int, change: str, may_crash: bool) -> Process:
    """put() of engine/post.c: gl_queue_claim, the header and payload, gl_queue_publish."""

    @step("queue.h gl_queue_claim", "loads the tail")
    def load_tail(s: View) -> Any:
        if s["sent"] == messages:
            return None
        s["ticket"] = s.load("tail")
        return load_turn

    @step("queue.h gl_queue_claim", "loads the turn of its slot (acquire)")
    def load_turn(s: View) -> Any:
        ahead = s.load(f"turn{s['ticket'] % CAPACITY}") - lap(s["ticket"])
        if ahead == 0:
            return take
        return load_tail  # ahead < 0: the queue is full, and put() is called again

    @step("queue.h gl_queue_claim", "takes the ticket by compare-and-swap of the tail")
    def take(s: View) -> Any:
        if change == "claims without compare-and-swap":
            s.store("tail", s["ticket"] + 1)
        elif not s.cas("tail", s["ticket"], s["ticket"] + 1):
            s["ticket"] = s.see("tail")  # the failed compare-and-swap loads it
            return load_turn
        return publish if change == "publishes before it writes" else write

    @step("post.c write_header, memcpy", "writes the slot")
    def write(s: View) -> Any:
        s.store(f"payload{s['ticket'] % CAPACITY}", (number, s["sent"]))
        if change == "publishes before it writes":
            s["sent"] += 1
            return load_tail
        return publish

    @step("queue.h gl_queue_publish", "stores the turn (release)")
    def publish(s: View) -> Any:
        release = change != "publishes by a relaxed store"
        s.store(f"turn{s['ticket'] % CAPACITY}", lap(s["ticket"]) + 1, release)
        if change == "publishes before it writes":
            return write
        s["sent"] += 1
        return load_tail

    return Process(f"producer {number}", load_tail, {"ticket": 0, "sent": 0}, may_crash)


def consumer(total: int, change: str, may_crash: bool) -> Process:
    """gl_step_begin finds a message by gl_queue_has; finish() gives its slot back by
    gl_queue_release."""

    @step("queue.h gl_queue_has", "loads the turn of the head (acquire)")
    def has(s: View) -> Any:
        head = s.load("head")
        if head == total:
            return None
        if s.load(f"turn{head % CAPACITY}") != lap(head) + 1:
            return BLOCKED
        return advance if change == "gives the slot back before it reads" else read

    @step("step.c launch", "reads the message")
    def read(s: View) -> Any:
        late = change == "gives the slot back before it reads"
        slot = (s.load("head") - late) % CAPACITY
        s.note("received", (*s.see("received"), s.load(f"payload{slot}")))
        return has if late else advance

    @step("queue.h gl_queue_release", "stores the head")
    def advance(s: View) -> Any:
        s["ticket"] = s.load("head")
        s.store("head", s["ticket"] + 1)
        return release

    @step("queue.h gl_queue_release", "stores the turn of the next lap (release)")
    def release(s: View) -> Any:
        s.store(f"turn{s['ticket'] % CAPACITY}", lap(s["ticket"]) + 2, release=True)
        return read if change == "gives the slot back before it reads" else has

    return Process("consumer", has, {"ticket": 0}, may_crash)


def queue(
    messages: tuple[int, int] = (2, 2),
    order: Order = "tso",
    change: str = "",
    crashes: tuple[str, ...] = (),
) -> Model:
    """Two producers post ``messages`` each."""
    total = sum(messages)
    names = ("producer 0", "producer 1", "consumer")
    may = [name in crashes for name in names]

    def never(memory: Memory) -> str | None:
        received = memory["received"]
        if any(each is None for each in received):
            return "the consumer reads a slot that nobody has written"
        if len(set(received)) < len(received):
            return "a message is received twice"
        for number in range(2):
            own = [index for sender, index in received if sender == number]
            if own != list(range(len(own))):
                return f"messages of producer {number} are lost or out of order: {own}"
        return None

    return Model(
        {"tail": 0, "head": 0}
        | {f"turn{n}": 0 for n in range(CAPACITY)}
        | {f"payload{n}": None for n in range(CAPACITY)}
        | {"received": ()},
        [producer(n, messages[n], change, may[n]) for n in range(2)]
        + [consumer(total, change, may[2])],
        never=never,
        goal=lambda memory: len(memory["received"]) == total,
        order=order,
    )
