"""The protocol's models: nothing is wrong in any interleaving, and mutants are found.

A counter-example is the shortest list of steps; ``pytest -s -k counter`` prints one.
"""

from __future__ import annotations

import pytest
from tests.actors.model.blocking import blocking, cycles
from tests.actors.model.callers import calls, receiving
from tests.actors.model.checker import BLOCKED, Model, Process, check, step
from tests.actors.model.ends import ends
from tests.actors.model.queue import queue
from tests.actors.model.routes import routes
from tests.actors.model.scheduling import holding, parking, steps, suspending
from tests.effort import NIGHTLY

ORDERS = ["tso", "weak"]
EVERYBODY = ("producer 0", "producer 1", "consumer")
MESSAGES = (3, 2) if NIGHTLY else (2, 2)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "make",
    [
        lambda order: queue(MESSAGES, order),
        lambda order: steps(order=order),
        lambda order: holding(order=order),
        lambda order: suspending(order=order),
        lambda order: parking(order=order),
        lambda order: blocking(order=order),
        lambda order: cycles(order=order),
        lambda order: calls(order=order),
        lambda order: calls(gives_up=True, order=order),
        lambda order: calls(gives_up=True, ends_twice=True, order=order),
        lambda order: receiving(order=order),
        lambda order: routes("a", order=order),
        lambda order: routes("c", order=order),
        lambda order: ends(order=order),
        lambda order: ends(is_python=True, order=order),
    ],
)
def test_nothing_is_wrong(make, order):
    found = check(make(order))
    assert found.wrong is None, str(found)


@pytest.mark.parametrize("order", ORDERS)
def test_nothing_is_wrong_after_a_crash(order):
    """At any step, of anybody: what is received is whole, once, and in order."""
    found = check(queue((2, 2) if NIGHTLY else (2, 1), order, crashes=EVERYBODY))
    assert found.wrong is None, str(found)


def test_a_crash_between_claim_and_publication_stops_what_is_behind():
    """The slot stays unpublished: nothing wrong is read, and messages behind it are not received.

    Threads of one process do not end between the two steps, so that this is no state of an engine.
    An inbox for other processes needs a way to skip such a slot.
    """
    model = queue((1, 1), crashes=("producer 0",))
    known = {"received": set()}

    def never(memory):
        stuck = memory["tail"] == 2 and memory["turn0"] == 0 and memory["turn1"] == 1
        if stuck:
            known["received"].add(memory["received"])
        return model.never(memory)

    found = check(Model(model.memory, model.processes, never, order="tso"))
    assert found.wrong is None
    assert known["received"] == {()}


LOST = "nobody will run"
MUTANTS = [
    (lambda c, o: queue((2, 1), o, c), "claims without compare-and-swap", "lost or out of order"),
    (lambda c, o: queue((2, 1), o, c), "publishes before it writes", "nobody has written"),
    (lambda c, o: queue((2, 1), o, c), "gives the slot back before it reads", "lost or out of"),
    (lambda c, o: steps(c, o), "no fence in gl_schedule", LOST),
    (lambda c, o: steps(c, o), "no fence in gl_step_over", LOST),
    (lambda c, o: steps(c, o), "no second look", LOST),
    (lambda c, o: holding(c, o), "no fence in gl_step_over", LOST),
    (lambda c, o: holding(c, o), "no second look", LOST),
    (lambda c, o: holding(c, o), "no gl_schedule after a hold in vain", LOST),
    (lambda c, o: suspending(c, o), "no gl_schedule in resume", LOST),
    (lambda c, o: parking(c, o), "no fence in enqueue", LOST),
    (lambda c, o: parking(c, o), "parks without a fence", LOST),
    (lambda c, o: blocking(c, o), "no fence in gl_block_on", LOST),
    (lambda c, o: blocking(c, o), "no fence in gl_unblock", LOST),
    (lambda c, o: blocking(c, o), "no second look in gl_block_on", LOST),
    (lambda c, o: blocking(c, o), "no look at waiting in gl_step_over", LOST),
    (lambda c, o: cycles(c, o), "no fence before is_cycle", "wait for each other for ever"),
    (lambda c, o: calls(c, order=o), "no fence in gl_answer", "nobody will wake it"),
    (lambda c, o: calls(c, True, order=o), "no generation in gl_answer", "of another call"),
    (
        lambda c, o: calls(c, True, order=o),
        "no wait for an answer that is being written",
        "into a free slot",
    ),
    (lambda c, o: calls(c, True, True, o), "no generation in gl_wait_end", "free ones twice"),
    (lambda c, o: calls(c, True, order=o), "drops an answer that nobody took", "answer is lost"),
    (lambda c, o: receiving(c, o), "no fence in gl_wake_receivers", "nobody wakes the thread"),
    (lambda c, o: routes("a", c, o), "takes the actor of a place without a key", "leads to the"),
    (lambda c, o: routes("c", c, o), "writes the key before the actor", "leads to nobody"),
    (lambda c, o: routes("a", c, o), "frees without quiet()", "table that is freed"),
    (lambda c, o: routes("a", c, o), "no fence in quiet()", "table that is freed"),
    (lambda c, o: routes("a", c, o), "enters a step without a fence", "table that is freed"),
    (lambda c, o: ends(c, order=o), "no count of senders", "a message is lost"),
    (lambda c, o: ends(c, order=o), "counts senders without a fence", "a message is lost"),
    (lambda c, o: ends(c, order=o), "marks a step without a fence", "a dead letter too"),
    (lambda c, o: ends(c, order=o), "clears the phase without a fence", ""),
    (lambda c, o: ends(c, order=o), "frees what the run queue has", "memory is freed"),
    (lambda c, o: ends(c, order=o), "looks at the run queue after quiet()", "memory is freed"),
    (lambda c, o: ends(c, True, o), "schedules after posting", "memory is freed"),
]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("make", "change", "wrong"), MUTANTS)
def test_a_mutant_is_found(make, change, wrong, order):
    found = check(make(change, order))
    assert found.wrong is not None and wrong in found.wrong, str(found)


def test_a_relaxed_publication_is_wrong_where_stores_are_not_in_order():
    change = "publishes by a relaxed store"
    assert check(queue((2, 1), "tso", change)).wrong is None
    assert check(queue((2, 1), "weak", change)).wrong is not None


def test_a_counter_example_is_read_by_people():
    found = str(check(receiving("no fence in gl_wake_receivers")))
    print(found)
    lines = found.splitlines()
    assert lines[0].startswith("the reply is there, and nobody wakes the thread, after these steps")
    assert any("reply = 1 waits in its buffer" in line for line in lines)
    assert any("[messages_object.c Engine_receive]: asleep = 1" in line for line in lines)


# --- the checker itself


def two(order, fenced):
    """Both store and then load the other's place (the store buffering of litmus tests)."""

    def process(own, other):
        @step("", "stores")
        def store(s):
            s.store(own, 1)
            return fence

        @step("", "fences")
        def fence(s):
            if fenced:
                s.fence()
            return load

        @step("", "loads")
        def load(s):
            s.note("seen", (*s.see("seen"), s.load(other)))
            return None

        return Process(own, store)

    return Model(
        {"x": 0, "y": 0, "seen": ()},
        [process("x", "y"), process("y", "x")],
        never=lambda memory: "both are 0" if memory["seen"] == (0, 0) else None,
        order=order,
    )


@pytest.mark.parametrize(
    ("order", "fenced", "found"),
    [("sc", False, False), ("tso", False, True), ("tso", True, False), ("weak", True, False)],
)
def test_store_buffering(order, fenced, found):
    assert (check(two(order, fenced)).wrong is not None) is found


@pytest.mark.parametrize(("order", "found"), [("tso", False), ("weak", True)])
def test_message_passing(order, found):
    """Two stores are seen in another order where memory is weak."""

    @step("", "stores both")
    def write(s):
        s.store("data", 1)
        s.store("flag", 1)

    @step("", "loads the flag")
    def flag(s):
        return data if s.load("flag") else BLOCKED

    @step("", "loads the data")
    def data(s):
        s.note("seen", s.load("data"))

    model = Model(
        {"data": 0, "flag": 0, "seen": 1},
        [Process("writer", write), Process("reader", flag)],
        never=lambda memory: None if memory["seen"] else "the data are not there",
        order=order,
    )
    assert (check(model).wrong is not None) is found


def test_what_cannot_be_reached_any_more_is_found():
    @step("", "goes one of two ways")
    def choose(s):
        return left if s.cas("x", 0, 1) else right

    @step("", "spins")
    def left(s):
        return again

    @step("", "spins again")
    def again(s):
        return left

    @step("", "arrives")
    def right(s):
        s.note("there", True)

    made = [Process("one", choose), Process("two", choose)]
    model = Model({"x": 0, "there": False}, made, goal=lambda memory: memory["there"])
    assert check(model).wrong is None
    alone = Model({"x": 0, "there": False}, made[:1], goal=lambda memory: memory["there"])
    assert check(alone).wrong == "the goal cannot be reached any more"
