"""The pool's models: nothing is wrong in any interleaving, and mutants are found."""

import pytest
from tests.actors.model.checker import check
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
