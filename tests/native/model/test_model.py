"""The models of the pool and of queues: nothing is wrong in any interleaving, and mutants are
found."""

import pytest
from tests.actors.model.checker import check
from tests.native.model import events, pieces, queues, turns
from tests.native.model.jobs import jobs
from tests.native.model.stops import stops

ORDERS = ["tso", "weak"]
ONE, TWO = ((0, 1),), ((0, 1), (2,))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "make",
    [
        lambda order: jobs(ONE, order=order),
        lambda order: jobs(ONE, order=order, needs_help=True),
        lambda order: jobs(TWO, order=order),
        lambda order: stops(order=order),
    ],
)
def test_nothing_is_wrong(make, order):
    found = check(make(order))
    assert found.wrong is None, str(found)


MUTANTS = [
    (lambda c, o: jobs(ONE, c, o), "waits for no worker", "runs twice"),
    (lambda c, o: jobs(ONE, c, o), "joins without compare-and-swap", ""),
    (lambda c, o: jobs(ONE, c, o, needs_help=True), "wakes nobody", "never ends"),
    (lambda c, o: jobs(ONE, c, o, needs_help=True), "opens without a fence", "never ends"),
    (lambda c, o: jobs(ONE, c, o, needs_help=True), "parks without a fence", "never ends"),
    (lambda c, o: jobs(ONE, c, o, needs_help=True), "parks without a second look", "never ends"),
    (stops, "signals nobody, no second signal", "never ends"),
    (stops, "no look at stop, no second signal", "never ends"),
    (stops, "frame without a fence, no second signal", "never ends"),
]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("make", "change", "wrong"), MUTANTS)
def test_a_mutant_is_found(make, change, wrong, order):
    found = check(make(change, order))
    assert found.wrong is not None and wrong in found.wrong, str(found)


def test_a_relaxed_opening_is_wrong_where_stores_are_not_in_order():
    found = check(jobs(ONE, "opens by a relaxed store", "weak"))
    assert found.wrong is not None, str(found)


QUEUES = [
    *(queues.appends, queues.lingers, queues.across, queues.marked, queues.circle),
    *(queues.errors, queues.waited_error, queues.holds, queues.captures, queues.drops),
    pieces.pieces,
    *(events.recorded, events.recorded_first, events.recorded_again, events.captured),
    *(turns.turn_of_caller, turns.turns_of_workers, turns.turns_in_a_row),
    turns.turns_without_circles,
]


@pytest.mark.parametrize("make", QUEUES)
def test_nothing_is_wrong_with_queues(make):
    found = check(make())
    assert found.wrong is None, str(found)


QUEUES_MUTANTS = [
    (queues.appends, "leaves without a look", "never"),
    (queues.appends, "finish wakes nobody", "never ends"),
    (queues.appends, "waits without a second look", "never ends"),
    (queues.lingers, "append wakes nobody", "never"),
    (queues.lingers, "sleeps without a look", "never"),
    (queues.marked, "a mark wakes nobody", "never ends"),
    (queues.marked, "a mark passes before its item is done", ""),
    (queues.circle, "looks for no circle", "never ends"),
    (queues.errors, "drops nothing", "what ran"),
    (queues.waited_error, "notes the error last", "before the error is noted"),
    (queues.holds, "takes while held", "while a caller has the queue"),
    (queues.holds, "letting go wakes nobody", "never"),
    (queues.captures, "looks before the lock", "captured"),
    (pieces.pieces, "sleeps with pieces", "that are forgotten"),
    (pieces.pieces, "forgets without the lock", "that are forgotten"),
    (events.recorded, "records at once", "before item 1"),
    (events.recorded, "drops a mark without the lock", "drops a mark twice"),
    (events.recorded_again, "keeps the old mark", "is lost"),
    (events.captured, "C records what is captured", "in a capture"),
    (events.captured, "the flag comes first", "in a capture"),
    (turns.turn_of_caller, "looks for no circle of turns", "never"),
    (turns.turn_of_caller, "a caller looks for no circle", "never"),
    (turns.turn_of_caller, "a caller's turn waits for nobody", "never"),
    (turns.turns_of_workers, "a worker's turn waits for nobody", "never"),
    (turns.turns_in_a_row, "the turn ends before its wait", "never"),
]


@pytest.mark.parametrize(("make", "change", "wrong"), QUEUES_MUTANTS)
def test_a_mutant_of_queues_is_found(make, change, wrong):
    found = check(make(change))
    assert found.wrong is not None and wrong in found.wrong, str(found)
