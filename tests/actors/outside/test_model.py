"""Every order of the accesses of two producers and the reader, with deaths and expired leases."""

from __future__ import annotations

import pytest
from tests.actors.outside.model import CLAIMED, PUBLISHED, start, successors


def explore(capacity, messages, kills, leases):
    """All states that can be reached, and those with no way on but to themselves."""
    first = start(capacity, messages)
    seen, todo, ends = {first}, [first], []
    while todo:
        ring = todo.pop()
        after = [each for each in successors(ring, kills, leases) if each != ring]
        if not after:
            ends.append(ring)
        for each in after:
            if each not in seen:
                seen.add(each)
                todo.append(each)
    return seen, ends


def check(ring, leases):
    taken, dead = list(ring.taken), list(ring.dead)
    assert len(set(taken)) == len(taken), "a message came twice"
    assert not set(taken) & set(dead), "a dead message came"
    for number in range(len(ring.producers)):
        mine = [left for who, left in taken if who == number]
        assert mine == sorted(mine, reverse=True), "a producer's messages changed places"
    assert ring.lost <= set(dead), "a sender was told of a death that is no dead letter"
    inside = {slot[3] for slot in ring.slots if slot[0] == PUBLISHED}
    assert ring.posted <= set(taken) | inside, "a message that was posted is gone"


@pytest.mark.parametrize(
    ("capacity", "messages", "kills", "leases"),
    [
        (1, (2, 1), True, True),
        (2, (2, 1), False, True),
        (2, (2, 1), True, False),
        (2, (4,), True, True),
        pytest.param(1, (2, 2), True, True, marks=pytest.mark.nightly),
        pytest.param(2, (2, 2), False, True, marks=pytest.mark.nightly),
        pytest.param(2, (2, 2), True, False, marks=pytest.mark.nightly),
    ],
)
def test_all_orders(capacity, messages, kills, leases):
    seen, ends = explore(capacity, messages, kills, leases)
    for ring in seen:
        check(ring, leases)
    assert ends
    for ring in ends:
        # Nobody waits for a slot: those that live have posted everything, and the reader has it.
        assert all(each.step == "done" or not each.alive for each in ring.producers)
        assert not any(slot[0] in (CLAIMED, PUBLISHED) for slot in ring.slots)
        if not kills:
            count = len(ring.taken) + len(ring.dead)
            assert count == sum(messages)
    assert len(seen) > 100


def test_the_model_finds_a_passed_slot_without_the_head():
    """The order of its two reads matters to a producer: with the word before the head it may pass
    a slot that the reader has just freed, and the reader waits there for ever."""
    from tests.actors.outside import model

    right = model.produce

    def wrong(ring, number):
        me = ring.producers[number]
        if me.step == "head":  # the word comes first
            slot = ring.slots[me.ticket % len(ring.slots)]
            return model.moved(ring, number, step="word", word=slot)
        if me.step == "word" and me.word[0] in (model.ABANDONED, model.RETURNED):
            full = me.ticket - ring.head >= len(ring.slots)
            return model.moved(ring, number, step="tail" if full else "help")
        return right(ring, number)

    model.produce = wrong
    try:
        _, ends = explore(2, (2, 1), False, True)
    finally:
        model.produce = right
    assert any(slot[0] == PUBLISHED for ring in ends for slot in ring.slots) or any(
        each.step != "done" for ring in ends for each in ring.producers
    )
