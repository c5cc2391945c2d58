"""The end of an actor: Instance.end, gl_post's ``posting``, a step's ``in_step``, and when its
memory may go.

The actor has one slot for a message. ``freed`` is whether its memory is gone; the run queue keeps a
pointer to it, ``queued``. A thread of Python that posts holds a reference, ``held``: its end frees
the actor where that is ``forgotten`` meanwhile.
"""

from __future__ import annotations

from typing import Any

from tests.actors.model.checker import BLOCKED, Memory, Model, Order, Process, View, step

MEMORY: Memory = {
    "phase": 1,
    "posting": 0,
    "in_step": 0,
    "scheduled": 0,
    "queued": 0,
    "message": 0,
    "handled": 0,
    "buried": 0,
    "refused": 0,
    "forgotten": False,
    "held": 0,
    "freed": False,
    "inside": 0,
    "inside2": 0,
    "wrong": None,
}


def touch(s: View) -> None:
    if s.see("freed"):
        s.note("wrong", "an actor is used whose memory is freed")


def sender(change: str, is_python: bool) -> Process:
    """A thread of Python or a step of another actor, which posts one message: gl_post."""
    early = change == "schedules after posting"

    @step("step.c send_output", "finds the actor, in a step (inside is odd) or by its reference")
    def find(s: View) -> Any:
        if is_python:
            if s.see("forgotten"):
                return None
            s.note("held", 1)
            return begin
        s.add("inside", 1)
        if s.load("phase") == "no route":
            return leave
        return begin

    @step("post.c gl_post", "counts itself as posting")
    def begin(s: View) -> Any:
        touch(s)
        if change == "no count of senders":
            return look
        if change == "counts senders without a fence":
            s.store("posting", s.load("posting") + 1)
        else:
            s.add("posting", 1)
        return look

    @step("post.c accepts", "looks at the phase")
    def look(s: View) -> Any:
        touch(s)
        return publish if s.load("phase") == 1 else refuse

    @step("post.c gl_post", "refuses the message, which is a dead letter")
    def refuse(s: View) -> Any:
        s.note("refused", 1)
        return end

    @step("queue.h gl_queue_publish", "publishes the message (release)")
    def publish(s: View) -> Any:
        touch(s)
        s.store("message", 1, release=True)
        return end if early else schedule

    @step("workers.c gl_schedule", "schedules the actor if it may run")
    def schedule(s: View) -> Any:
        touch(s)
        s.fence()
        return exchange if s.load("phase") == 1 else (leave if early else end)

    @step("workers.c gl_schedule", "exchanges scheduled, and puts it into the run queue")
    def exchange(s: View) -> Any:
        touch(s)
        if not s.swap("scheduled", 1):
            s.note("queued", 1)
        return leave if early else end

    @step("post.c gl_post", "is posting no more")
    def end(s: View) -> Any:
        touch(s)
        if change != "no count of senders":
            s.add("posting", -1)
        return schedule if early and not s.see("refused") else leave

    @step("workers.c work", "leaves the step (inside is even), or drops its reference")
    def leave(s: View) -> Any:
        if not is_python:
            s.add("inside", 1)
            return None
        s.note("held", 0)
        if s.see("forgotten"):
            s.note("freed", True)
        return None

    return Process("sender", find)


def worker(change: str) -> Process:
    """gl_run_step and gl_step_over."""

    @step("workers.c pop", "takes the actor from the run queue")
    def pop(s: View) -> Any:
        s.fence()
        if not s.see("queued"):
            return BLOCKED
        s.note("queued", 0)
        return enter

    @step("workers.c work", "enters the step (inside is odd)")
    def enter(s: View) -> Any:
        s.add("inside2", 1)
        return mark

    @step("workers.c gl_run_step", "marks the step")
    def mark(s: View) -> Any:
        touch(s)
        if change == "marks a step without a fence":
            s.store("in_step", 1)
        else:
            s.store_fenced("in_step", 1)
        return look

    @step("workers.c gl_run_step", "looks at the phase")
    def look(s: View) -> Any:
        touch(s)
        return handle if s.load("phase") == 1 and s.load("message") else over

    @step("step.c", "handles the message")
    def handle(s: View) -> Any:
        touch(s)
        if s.see("buried"):
            s.note("wrong", "a message is handled, and a dead letter too")
        s.note("handled", 1)
        s.store("message", 0, release=True)
        return over

    @step("workers.c gl_step_over", "clears the mark of the step")
    def over(s: View) -> Any:
        touch(s)
        s.store("in_step", 0, release=True)
        return clear

    @step("workers.c gl_step_over", "clears scheduled")
    def clear(s: View) -> Any:
        touch(s)
        s.store_fenced("scheduled", 0)
        return again

    @step("workers.c gl_step_over", "looks for more work (its phase does not let it run)")
    def again(s: View) -> Any:
        touch(s)
        return exchange if s.load("message") and s.load("phase") == 1 else leave

    @step("workers.c gl_schedule", "exchanges scheduled, and puts it into the run queue")
    def exchange(s: View) -> Any:
        touch(s)
        if not s.swap("scheduled", 1):
            s.note("queued", 1)
        return leave

    @step("workers.c work", "leaves the step (inside is even)")
    def leave(s: View) -> Any:
        s.add("inside2", 1)
        return pop

    return Process("worker", pop)


def ender(change: str) -> Process:
    """Instance.end and Directory.remove."""

    @step("instance.py end", "clears the phase")
    def clear(s: View) -> Any:
        if change == "clears the phase without a fence":
            s.store("phase", 0, release=True)
        else:
            s.store_fenced("phase", 0)
        return wait_senders

    @step("actor_object.c Actor_working", "waits until no step runs")
    def wait_senders(s: View) -> Any:
        return BLOCKED if s.load("in_step") else wait_posts

    @step("actor_object.c Actor_working", "waits until nobody is posting")
    def wait_posts(s: View) -> Any:
        return BLOCKED if s.load("posting") else drain

    @step("actor_object.c Actor_drain", "buries the message that is left")
    def drain(s: View) -> Any:
        s.fence()
        if s.see("message"):
            s.note("message", 0)
            s.note("buried", 1)
        return remove

    @step("directory.py remove", "removes the routes to it")
    def remove(s: View) -> Any:
        s.store_fenced("phase", "no route")
        if change == "frees what the run queue has":
            return quiet
        return quiet if change == "looks at the run queue after quiet()" else listed

    @step("directory.py _reclaim", "waits until the run queue does not have it")
    def listed(s: View) -> Any:
        if s.load("scheduled"):
            return BLOCKED  # it stays among the retired
        return forget if change == "looks at the run queue after quiet()" else quiet

    @step("engine_object.c Engine_quiet", "waits for the sender's step, which may know it")
    def quiet(s: View) -> Any:
        return BLOCKED if s.load("inside") % 2 else quiet_worker

    @step("engine_object.c Engine_quiet", "waits for the worker's step, which may know it")
    def quiet_worker(s: View) -> Any:
        if s.load("inside2") % 2:
            return BLOCKED
        return listed if change == "looks at the run queue after quiet()" else forget

    @step("engine_object.c Engine_forget", "lets its memory go")
    def forget(s: View) -> Any:
        s.note("forgotten", True)
        s.note("freed", not s.see("held"))
        return None

    return Process("ender", clear)


def ends(change: str = "", is_python: bool = False, order: Order = "tso") -> Model:
    """A sender, the actor's worker, and a thread that ends the actor."""

    def at_rest(memory: Memory) -> str | None:
        if memory["message"]:
            return "a message is lost: it is in the inbox of an actor that has ended"
        return None if memory["freed"] else "the memory of the actor is never freed"

    made = [sender(change, is_python), worker(change), ender(change)]
    return Model(MEMORY, made, lambda memory: memory["wrong"], at_rest, order=order)
