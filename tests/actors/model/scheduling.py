"""Who runs an actor, and when: engine/workers.c, with the publication of a message as one place.

``published`` is the newest turn of the inbox, ``taken`` how many messages the actor has handled.
``queued`` is how often the actor is in the run queue, ``inside`` how many threads are in its step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.actors.model.checker import BLOCKED, Memory, Model, Order, Process, Step, View, step

MEMORY: Memory = {
    "published": 0,
    "taken": 0,
    "scheduled": 0,
    "wanted": 0,
    "runs": 1,
    "queued": 0,
    "inside": 0,
    "parked": 0,
    "asleep": 0,
    "writer": 0,
}


def schedule(after: Callable[[View], Any], change: str, parks: bool) -> Step:
    """gl_schedule and enqueue, as steps; ``after`` tells what follows."""

    @step("workers.c gl_schedule", "passes its fence")
    def begin(s: View) -> Any:
        if change != "no fence in gl_schedule":
            s.fence()
        return allowed

    @step("workers.c gl_schedule", "looks whether the actor may run, and is wanted")
    def allowed(s: View) -> Any:
        return after(s) if not s.load("runs") or s.load("wanted") else look

    @step("workers.c gl_schedule", "looks whether the actor is scheduled")
    def look(s: View) -> Any:
        return after(s) if s.load("scheduled") else exchange

    @step("workers.c gl_schedule", "exchanges scheduled")
    def exchange(s: View) -> Any:
        return after(s) if s.swap("scheduled", 1) else push

    @step("workers.c push", "puts the actor into the run queue (release)")
    def push(s: View) -> Any:
        s.store("queued", s.load("queued") + 1, release=True)
        return fenced if parks else after(s)

    @step("workers.c enqueue", "passes its fence")
    def fenced(s: View) -> Any:
        if change != "no fence in enqueue":
            s.fence()
        return wake

    @step("workers.c enqueue", "wakes a worker if one is parked")
    def wake(s: View) -> Any:
        if s.load("parked"):
            s.note("asleep", 0)
        return after(s)

    return begin


def sender(name: str, messages: int, change: str, parks: bool) -> Process:
    """gl_post: publishes, then schedules."""

    @step("queue.h gl_queue_publish", "publishes a message")
    def publish(s: View) -> Any:
        s.store("published", s["sent"] + 1, release=True)
        return then

    def after(s: View) -> Any:
        s["sent"] += 1
        return None if s["sent"] == messages else publish

    then = schedule(after, change, parks)
    return Process(name, publish, {"sent": 0})


def worker(name: str, change: str, parks: bool) -> Process:
    """work(): pop, gl_run_step, gl_step_over."""

    @step("workers.c pop", "takes the actor from the run queue")
    def pop(s: View) -> Any:
        s.fence()
        if not s.see("queued"):
            return park if parks else BLOCKED
        s.note("queued", s.see("queued") - 1)
        s.note("inside", s.see("inside") + 1)
        return allowed

    @step("workers.c gl_run_step", "looks whether the actor may run")
    def allowed(s: View) -> Any:
        return find if s.load("runs") else leave

    @step("step.c gl_step_begin", "finds the batch, and runs it")
    def find(s: View) -> Any:
        s.store("taken", s.load("published"))
        return leave

    @step("workers.c gl_step_over", "clears scheduled")
    def leave(s: View) -> Any:
        s.note("inside", s.see("inside") - 1)
        s.store("scheduled", 0, release=True)
        return fence

    @step("workers.c gl_step_over", "passes its fence")
    def fence(s: View) -> Any:
        if change != "no fence in gl_step_over":
            s.fence()
        return pop if change == "no second look" else again

    @step("workers.c gl_step_over", "looks for more work")
    def again(s: View) -> Any:
        return then if s.load("published") > s.load("taken") else pop

    @step("workers.c work", "counts itself as parked")
    def park(s: View) -> Any:
        if change == "parks without a fence":
            s.store("parked", 1)
        else:
            s.add("parked", 1)
        return sleep

    @step("workers.c work", "sleeps if the run queue is empty")
    def sleep(s: View) -> Any:
        # pthread_cond_wait, with the mutex held since before the look
        if s.load("queued"):
            return unpark
        s.note("asleep", 1)
        return woken

    @step("workers.c work", "is awake")
    def woken(s: View) -> Any:
        return BLOCKED if s.see("asleep") else unpark

    @step("workers.c work", "counts itself as awake")
    def unpark(s: View) -> Any:
        s.fence()
        s.note("parked", 0)
        return pop

    then = schedule(lambda s: pop, change, parks)
    return Process(name, pop)


def holder(change: str) -> Process:
    """read_state: gl_hold, which may give up, and gl_release."""

    @step("workers.c gl_hold", "wants the actor")
    def want(s: View) -> Any:
        s.add("wanted", 1)
        return take

    @step("workers.c gl_hold", "takes scheduled, or gives up")
    def take(s: View) -> Any:
        if s.cas("scheduled", 0, 1):
            s.note("inside", s.see("inside") + 1)
            return release
        return give_up

    @step("workers.c gl_hold", "wants the actor no more, after its time")
    def give_up(s: View) -> Any:
        s.add("wanted", -1)
        return None if change == "no gl_schedule after a hold in vain" else then

    @step("workers.c gl_release", "wants the actor no more")
    def release(s: View) -> Any:
        s.note("inside", s.see("inside") - 1)
        s.add("wanted", -1)
        return clear

    @step("workers.c gl_step_over", "clears scheduled")
    def clear(s: View) -> Any:
        s.store("scheduled", 0, release=True)
        return fence

    @step("workers.c gl_step_over", "passes its fence")
    def fence(s: View) -> Any:
        if change != "no fence in gl_step_over":
            s.fence()
        return None if change == "no second look" else again

    @step("workers.c gl_step_over", "looks for work")
    def again(s: View) -> Any:
        return then if s.load("published") > s.load("taken") else None

    then = schedule(lambda s: None, change, False)
    return Process("holder", want)


def suspender(change: str) -> Process:
    """ActorRef.suspend and resume."""

    @step("instance.py apply_phase", "suspends the actor")
    def suspend(s: View) -> Any:
        s.store_fenced("runs", 0)
        return resume

    @step("instance.py apply_phase", "resumes the actor")
    def resume(s: View) -> Any:
        s.store_fenced("runs", 1)
        return None if change == "no gl_schedule in resume" else then

    then = schedule(lambda s: None, change, False)
    return Process("suspender", suspend)


def _never(memory: Memory) -> str | None:
    if memory["inside"] > 1:
        return "two threads are in the actor's step"
    if memory["queued"] > 1:
        return "the actor is in the run queue twice"
    return None


def _at_rest(memory: Memory) -> str | None:
    if memory["published"] > memory["taken"]:
        return "a message is there, and nobody will run the actor"
    return None


def steps(change: str = "", order: Order = "tso", messages: int = 3) -> Model:
    """A sender of some messages and two workers."""
    made = [worker(f"worker {n}", change, False) for n in range(2)]
    return Model(
        MEMORY, [sender("sender", messages, change, False), *made], _never, _at_rest, order=order
    )


def holding(change: str = "", order: Order = "tso") -> Model:
    """A sender, a worker, and a thread that reads the state."""
    made = [sender("sender", 2, change, False), worker("worker", change, False), holder(change)]
    return Model(MEMORY, made, _never, _at_rest, order=order)


def suspending(change: str = "", order: Order = "tso") -> Model:
    """A sender, a worker, and a thread that suspends and resumes the actor."""
    made = [sender("sender", 1, change, False), worker("worker", change, False), suspender(change)]
    return Model(MEMORY, made, _never, _at_rest, order=order)


def parking(change: str = "", order: Order = "tso") -> Model:
    """A sender and a worker that parks."""
    made = [sender("sender", 2, change, True), worker("worker", change, True)]
    return Model(MEMORY, made, _never, _at_rest, order=order)
