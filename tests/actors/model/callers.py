"""A caller's slot: engine/waiters.c. One slot, which two calls use one after the other.

``state`` is (generation, "free" | "waiting" | "gone" | "answered"); ``answer`` is its payload.
``free`` is how often the slot is in the list of free ones, under answer_mutex. ``taken`` and
``letters`` are the answers that callers have, and those that are dead letters.
"""

from __future__ import annotations

from typing import Any

from tests.actors.model.checker import BLOCKED, Memory, Model, Order, Process, View, step

MEMORY: Memory = {
    "state": (0, "free"),
    "answer": None,
    "free": 1,
    "asked": (),
    "parked": 0,
    "asleep": 0,
    "taken": 0,
    "letters": 0,
    "wrong": None,
}


def caller(name: str, change: str, gives_up: bool, ends_twice: bool) -> Process:
    """call_actor: gl_wait_begin, post, gl_wait, gl_wait_end."""

    @step("waiters.c gl_wait_begin", "takes a free slot, under the mutex")
    def begin(s: View) -> Any:
        if not s.see("free"):
            return BLOCKED
        s.fence()
        s.note("free", s.see("free") - 1)
        return wait

    @step("waiters.c gl_wait_begin", "lets the slot wait, and posts the message")
    def wait(s: View) -> Any:
        s["generation"] = s.load("state")[0]
        s.store_fenced("state", (s["generation"], "waiting"))
        s.note("asked", (*s.see("asked"), (s["generation"], name)))
        return park

    @step("waiters.c gl_wait", "counts itself as parked")
    def park(s: View) -> Any:
        s.add("parked", 1)
        return look

    @step("waiters.c gl_wait", "looks for the answer, and sleeps or gives up")
    def look(s: View) -> Any:
        if s.load("state")[1] == "answered":
            return unpark
        if gives_up:
            return unpark
        s.note("asleep", 1)
        return woken

    @step("waiters.c gl_wait", "is awake")
    def woken(s: View) -> Any:
        return BLOCKED if s.see("asleep") else look

    @step("waiters.c gl_wait", "counts itself as awake")
    def unpark(s: View) -> Any:
        s.add("parked", -1)
        return read

    @step("messages_object.c call_actor", "reads the answer if there is one")
    def read(s: View) -> Any:
        if s.load("state")[1] != "answered":
            return end
        if s.load("answer") != (s["generation"], name):
            s.note("wrong", f"{name} reads the answer {s.load('answer')} of another call")
        s["takes"] = 1
        s.note("taken", s.see("taken") + 1)
        return end

    @step("waiters.c gl_wait_end", "frees the slot of its generation by compare-and-swap")
    def end(s: View) -> Any:
        generation, how = s.load("state")
        if generation != s["generation"] and change != "no generation in gl_wait_end":
            return None  # it is another call's by now
        if how == "gone" and change != "no wait for an answer that is being written":
            return BLOCKED
        if not s.cas("state", (generation, how), (generation + 1, "free")):
            return end
        return bury if how == "answered" and not s["takes"] else give

    @step("waiters.c gl_wait_end", "buries an answer that came after the last look")
    def bury(s: View) -> Any:
        if change != "drops an answer that nobody took":
            s.note("letters", s.see("letters") + 1)
        return give

    @step("waiters.c gl_wait_end", "puts the slot into the list, under the mutex")
    def give(s: View) -> Any:
        s.fence()
        s.note("free", s.see("free") + 1)
        s["ends"] += 1
        return end if ends_twice and s["ends"] < 2 else None

    return Process(name, begin, {"generation": 0, "ends": 0, "takes": 0})


def answerer(change: str) -> Process:
    """gl_answer, for each call in its order, by workers."""

    @step("step.c reply", "takes the next message")
    def take(s: View) -> Any:
        if s["done"] == 2:
            return None
        if len(s.see("asked")) <= s["done"]:
            return BLOCKED
        s["call"] = s.see("asked")[s["done"]]
        s["done"] += 1
        return claim

    @step("waiters.c gl_answer", "marks the slot by compare-and-swap, if that call waits")
    def claim(s: View) -> Any:
        generation = s["call"][0]
        if change == "no generation in gl_answer":
            if s.load("state")[1] != "waiting":
                s.note("letters", s.see("letters") + 1)
                return take
            s.store_fenced("state", (s.load("state")[0], "gone"))
            return write
        if s.cas("state", (generation, "waiting"), (generation, "gone")):
            return write
        s.note("letters", s.see("letters") + 1)
        return take

    @step("waiters.c gl_answer", "writes the answer")
    def write(s: View) -> Any:
        if s.see("state")[1] == "free":
            s.note("wrong", "an answer is written into a free slot")
        s.store("answer", s["call"])
        return answer

    @step("waiters.c gl_answer", "says that it is there")
    def answer(s: View) -> Any:
        made = (s.load("state")[0], "answered")
        if change == "no fence in gl_answer":
            s.store("state", made, release=True)
        else:
            s.store_fenced("state", made)
        return wake

    @step("waiters.c gl_answer", "wakes callers if any is parked")
    def wake(s: View) -> Any:
        if s.load("parked"):
            s.note("asleep", 0)
        return take

    return Process("worker", take, {"done": 0, "call": None})


def calls(
    change: str = "", gives_up: bool = False, ends_twice: bool = False, order: Order = "tso"
) -> Model:
    """Two callers in turn and a worker. The first may give up while it is answered; and it may end
    its wait twice, as an asynchronous call does that is answered and cancelled at once."""

    def never(memory: Memory) -> str | None:
        if memory["free"] > 1:
            return "the slot is in the list of free ones twice"
        return memory["wrong"]

    def at_rest(memory: Memory) -> str | None:
        if memory["free"] != 1 or len(memory["asked"]) != 2:
            return "a caller sleeps, and nobody will wake it"
        if memory["taken"] + memory["letters"] != 2:
            return "an answer is lost, or there twice"
        return None

    made = [
        caller("first", change, gives_up, ends_twice),
        caller("second", change, False, False),
        answerer(change),
    ]
    return Model(MEMORY, made, never, at_rest, order=order)


def receiving(change: str = "", order: Order = "tso") -> Model:
    """A thread that waits for a reply in an outbox, and the step that puts it there."""

    @step("step.c reply", "publishes the reply (release)")
    def publish(s: View) -> Any:
        s.store("reply", 1, release=True)
        return fence

    @step("waiters.c gl_wake_receivers", "passes its fence")
    def fence(s: View) -> Any:
        if change != "no fence in gl_wake_receivers":
            s.fence()
        return wake

    @step("waiters.c gl_wake_receivers", "wakes threads if any is parked")
    def wake(s: View) -> Any:
        if s.load("parked"):
            s.note("asleep", 0)
        return None

    @step("messages_object.c Engine_receive", "counts itself as parked")
    def park(s: View) -> Any:
        s.add("parked", 1)
        return look

    @step("messages_object.c Engine_receive", "looks for the reply, and sleeps")
    def look(s: View) -> Any:
        if s.load("reply"):
            s.note("received", 1)
            return None
        s.note("asleep", 1)
        return woken

    @step("messages_object.c Engine_receive", "is awake")
    def woken(s: View) -> Any:
        return BLOCKED if s.see("asleep") else look

    def at_rest(memory: Memory) -> str | None:
        return None if memory["received"] else "the reply is there, and nobody wakes the thread"

    memory: Memory = {"reply": 0, "parked": 0, "asleep": 0, "received": 0}
    made = [Process("worker", publish), Process("receiver", park)]
    return Model(memory, made, at_rest=at_rest, order=order)
