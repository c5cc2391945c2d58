"""A sender that waits for room in a full inbox: gl_block_on and gl_unblock of engine/post.c, and
gl_step_over.

The inbox of ``full`` has one slot, which is taken at first; ``room`` is whether it is free.
``listed`` is whether the sender is in the list of ``full``, under its mutex.
"""

from __future__ import annotations

from typing import Any

from tests.actors.model.checker import BLOCKED, Memory, Model, Order, Process, View, step

MEMORY: Memory = {
    "room": 0,
    "has_blocked": 0,
    "listed": 0,
    "mutex": 0,
    "waiting": 0,
    "scheduled": 1,
    "queued": 1,
    "delivered": 0,
}


def sender(change: str) -> Process:
    """A worker that runs the sender's step, which has one output to deliver."""

    @step("workers.c pop", "takes the sender from the run queue")
    def pop(s: View) -> Any:
        s.fence()
        if not s.see("queued"):
            return BLOCKED
        s.note("queued", s.see("queued") - 1)
        return post

    @step("step.c deliver", "posts to the full inbox")
    def post(s: View) -> Any:
        if s.load("room"):
            s.note("delivered", 1)
            return leave
        return listed

    @step("post.c gl_block_on", "looks whether it is in the list still")
    def listed(s: View) -> Any:
        return leave if s.load("waiting") else lock

    @step("post.c gl_block_on", "locks the list")
    def lock(s: View) -> Any:
        return enter if s.cas("mutex", 0, 1) else BLOCKED

    @step("post.c gl_block_on", "enters the list, and says so")
    def enter(s: View) -> Any:
        s.store("listed", 1)
        s.store("waiting", 1)
        s.store("has_blocked", 1)
        return unlock

    @step("post.c gl_block_on", "unlocks the list")
    def unlock(s: View) -> Any:
        s.store("mutex", 0, release=True)
        return fence

    @step("post.c gl_block_on", "passes its fence")
    def fence(s: View) -> Any:
        if change != "no fence in gl_block_on":
            s.fence()
        return leave if change == "no second look in gl_block_on" else again

    @step("post.c gl_block_on", "looks for room once more")
    def again(s: View) -> Any:
        s["unblocks"] = bool(s.load("room"))
        return take if s["unblocks"] else leave

    @step("post.c gl_unblock", "locks the list")
    def take(s: View) -> Any:
        return empty if s.cas("mutex", 0, 1) else BLOCKED

    @step("post.c gl_unblock", "takes the list, and unlocks it")
    def empty(s: View) -> Any:
        s["found"] = s.load("listed")
        s.store("listed", 0)
        s.store("has_blocked", 0)
        s.store("mutex", 0, release=True)
        return clear

    @step("post.c gl_unblock", "says that the sender waits no more")
    def clear(s: View) -> Any:
        if s["found"]:
            s.store_fenced("waiting", 0)
        return leave  # gl_schedule of itself finds scheduled set

    @step("workers.c gl_step_over", "clears scheduled")
    def leave(s: View) -> Any:
        s.store_fenced("scheduled", 0)
        return more

    @step("workers.c gl_step_over", "looks whether it has an output, and does not wait")
    def more(s: View) -> Any:
        if change == "no look at waiting in gl_step_over":
            return pop
        return exchange if not s.see("delivered") and not s.load("waiting") else pop

    @step("workers.c gl_schedule", "exchanges scheduled, and enters the run queue")
    def exchange(s: View) -> Any:
        if not s.swap("scheduled", 1):
            s.note("queued", s.see("queued") + 1)
        return pop

    return Process("sender", pop, {"found": 0, "unblocks": False})


def receiver(change: str) -> Process:
    """finish() of the full actor: it gives a slot back, and unblocks."""

    @step("queue.h gl_queue_release", "gives the slot back (release)")
    def release(s: View) -> Any:
        s.store("room", 1, release=True)
        return fence

    @step("post.c gl_unblock", "passes its fence")
    def fence(s: View) -> Any:
        if change != "no fence in gl_unblock":
            s.fence()
        return look

    @step("post.c gl_unblock", "looks whether anybody waits")
    def look(s: View) -> Any:
        return lock if s.load("has_blocked") else None

    @step("post.c gl_unblock", "locks the list")
    def lock(s: View) -> Any:
        return empty if s.cas("mutex", 0, 1) else BLOCKED

    @step("post.c gl_unblock", "takes the list, and unlocks it")
    def empty(s: View) -> Any:
        s["found"] = s.load("listed")
        s.store("listed", 0)
        s.store("has_blocked", 0)
        s.store("mutex", 0, release=True)
        return clear if s["found"] else None

    @step("post.c gl_unblock", "says that the sender waits no more")
    def clear(s: View) -> Any:
        s.store_fenced("waiting", 0)
        return exchange

    @step("workers.c gl_schedule", "exchanges scheduled, and enters the run queue")
    def exchange(s: View) -> Any:
        if not s.swap("scheduled", 1):
            s.note("queued", s.see("queued") + 1)
        return None

    return Process("receiver", release, {"found": 0})


def resumer() -> Process:
    """Another thread that schedules the sender, as resume() does, while it waits."""

    @step("workers.c gl_schedule", "exchanges scheduled, and enters the run queue")
    def exchange(s: View) -> Any:
        if not s.swap("scheduled", 1):
            s.note("queued", s.see("queued") + 1)
        return None

    return Process("resumer", exchange)


def blocking(change: str = "", order: Order = "tso") -> Model:
    """A sender, the receiver that makes room, and a thread that schedules the sender besides."""

    def at_rest(memory: Memory) -> str | None:
        return None if memory["delivered"] else "there is room, and nobody will run the sender"

    def never(memory: Memory) -> str | None:
        return "the sender is in the run queue twice" if memory["queued"] > 1 else None

    made = [sender(change), receiver(change), resumer()]
    return Model(MEMORY, made, never, at_rest, order=order)


def cycles(change: str = "", order: Order = "tso") -> Model:
    """Two actors whose inboxes are full block on each other at once: one of them finds it."""

    def process(name: str, other: str) -> Process:
        @step("post.c gl_block_on", "says for whom it waits")
        def enter(s: View) -> Any:
            s.store(f"{name} waits for", other)
            return fence

        @step("post.c gl_block_on", "passes its fence")
        def fence(s: View) -> Any:
            if change != "no fence before is_cycle":
                s.fence()
            return follow

        @step("post.c is_cycle", "looks for whom the other waits")
        def follow(s: View) -> Any:
            return settle if s.load(f"{other} waits for") == name else None

        @step("step.c settle", "leaves the list, and gives its slots back")
        def settle(s: View) -> Any:
            s.note("settled", True)
            return None

        return Process(name, enter)

    def at_rest(memory: Memory) -> str | None:
        return None if memory["settled"] else "two actors wait for each other for ever"

    memory: Memory = {"one waits for": None, "two waits for": None, "settled": False}
    made = [process("one", "two"), process("two", "one")]
    return Model(memory, made, at_rest=at_rest, order=order)
