"""A model of the ring of a shared inbox: each shared access is a step, and all orders are tried.

Producers post messages and may be killed at any step, or stop for longer than the lease. The
functions follow `claim`, `gl_peer_post`, `serve`, `pass_claimed` and `free_seat` of the engine.
"""

from __future__ import annotations

from typing import NamedTuple

FREE, CLAIMED, PUBLISHED, ABANDONED, RETURNED = (
    "free",
    "claimed",
    "published",
    "abandoned",
    "returned",
)


class Producer(NamedTuple):
    """Where a producer is.

    Attributes:
        step: of what it does next.
        left: messages to post, the present one among them.
        ticket, head, word: what it has read.
        alive: whether it has not been killed.
    """

    step: str
    left: int
    ticket: int = 0
    head: int = 0
    word: tuple = ()
    alive: bool = True


class Ring(NamedTuple):
    """The memory and who is there.

    Attributes:
        slots: (kind, producer, lap, message) of each.
        tail, head: as the memory has them.
        place: the reader's own head.
        taken, dead: messages read, and those that are dead letters.
        posted: messages whose senders know that they are in the ring.
        lost: messages of which a sender knows that they are dead.
    """

    slots: tuple
    tail: int
    head: int
    place: int
    producers: tuple
    taken: tuple = ()
    dead: tuple = ()
    posted: frozenset = frozenset()
    lost: frozenset = frozenset()


def start(capacity, messages):
    """An empty ring, and a producer for each number of messages."""
    slots = tuple((FREE, None, 0, None) for _ in range(capacity))
    return Ring(slots, 0, 0, 0, tuple(Producer("tail", each) for each in messages))


def put(ring, index, slot):
    return ring._replace(slots=ring.slots[:index] + (slot,) + ring.slots[index + 1 :])


def moved(ring, number, **changes):
    made = ring.producers[number]._replace(**changes)
    return ring._replace(producers=ring.producers[:number] + (made,) + ring.producers[number + 1 :])


def produce(ring, number):
    """The state after a producer's next access."""
    me, capacity = ring.producers[number], len(ring.slots)
    message = number, me.left
    if me.step == "tail":
        return moved(ring, number, step="head", ticket=ring.tail)
    if me.step == "head":
        return moved(ring, number, step="word", head=ring.head)
    index, lap = me.ticket % capacity, me.ticket // capacity
    slot = ring.slots[index]
    if me.step == "word":
        kind, _, there, _ = slot
        if slot[:1] == (FREE,) and there == lap:
            return moved(ring, number, step="claim", word=slot)
        if kind in (ABANDONED, RETURNED):
            full = me.ticket - me.head >= capacity
        else:
            full = there < lap
        return moved(ring, number, step="tail" if full else "help")
    if me.step == "help":
        tail = me.ticket + 1 if ring.tail == me.ticket else ring.tail
        return moved(ring._replace(tail=tail), number, step="tail")
    if me.step == "claim":
        if slot != me.word:
            return moved(ring, number, step="tail")
        return moved(put(ring, index, (CLAIMED, number, lap, None)), number, step="advance")
    if me.step == "advance":
        tail = me.ticket + 1 if ring.tail == me.ticket else ring.tail
        return moved(ring._replace(tail=tail), number, step="write")
    if me.step == "write":  # the payload; the word stays
        return moved(put(ring, index, (*slot[:3], message)), number, step="publish")
    if me.step == "publish":
        if slot[:3] == (CLAIMED, number, lap):
            made = put(ring, index, (PUBLISHED, number, lap, slot[3]))
            return next_message(made._replace(posted=made.posted | {message}), number)
        return moved(ring, number, step="return")
    assert me.step == "return"
    if slot[:3] == (ABANDONED, number, lap):
        ring = put(ring, index, (RETURNED, number, lap, None))
    return next_message(ring._replace(lost=ring.lost | {message}), number)


def next_message(ring, number):
    left = ring.producers[number].left - 1
    return moved(
        ring, number, step="tail" if left else "done", left=left, ticket=0, head=0, word=()
    )


def consume(ring, leases):
    """The states after the reader's next look; none where it finds nothing to do."""
    capacity = len(ring.slots)
    index, lap = ring.place % capacity, ring.place // capacity
    kind, owner, there, message = ring.slots[index]
    passed = ring._replace(place=ring.place + 1, head=ring.place + 1)
    free = (FREE, None, lap + 1, None)
    if kind == FREE:
        assert there == lap, "a free slot of another lap"
        return []
    if kind == PUBLISHED:
        assert there == lap, "a message of another lap"
        assert message is not None and message[0] == owner, "a message that is not whole"
        return [put(passed, index, free)._replace(taken=(*ring.taken, message))]
    if kind == RETURNED:
        return [put(passed, index, free)]
    alive = ring.producers[owner].alive
    if kind == CLAIMED:
        assert there == lap, "a claim of another lap"
        if not alive:
            return [returned(ring, owner)]
        if not leases:
            return []
        dead = (*ring.dead, (owner, ring.producers[owner].left))
        return [put(ring, index, (ABANDONED, owner, lap, message))._replace(dead=dead)]
    assert kind == ABANDONED
    if not alive:
        return [returned(ring, owner)]
    if all(slot[0] == ABANDONED for slot in ring.slots):
        return []
    return [passed]


def returned(ring, owner):
    """The slots of a producer that was killed are free again."""
    for index, (kind, who, lap, _) in enumerate(ring.slots):
        if who == owner and kind in (CLAIMED, ABANDONED):
            if kind == CLAIMED:
                ring = ring._replace(dead=(*ring.dead, (owner, ring.producers[owner].left)))
            ring = put(ring, index, (RETURNED, owner, lap, None))
    return ring


def successors(ring, kills, leases):
    """All states that may follow."""
    found = consume(ring, leases)
    for number, each in enumerate(ring.producers):
        if not each.alive or each.step == "done":
            continue
        found.append(produce(ring, number))
        if kills:
            found.append(moved(ring, number, alive=False))
    return found
