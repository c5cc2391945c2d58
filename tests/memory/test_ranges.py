"""Free ranges: neighbours become one, and the smallest that fits is taken."""

from __future__ import annotations

import random

from gridlane.memory.ranges import FreeRanges


def test_against_a_scan():
    free, choose = FreeRanges(), random.Random(7)
    left, taken = set(range(2000)), {}
    free.give(0, 2000, "arena")
    for _ in range(3000):
        if taken and choose.random() < 0.5:
            start = choose.choice(list(taken))
            size = taken.pop(start)
            free.give(start, size, "arena")
            left |= set(range(start, start + size))
        else:
            size = choose.randint(1, 60)
            starts = [n for n in left if n - 1 not in left]
            sizes = {n: next(k for k in range(1, 2001) if n + k not in left) for n in starts}
            fitting = [(have, n) for n, have in sizes.items() if have >= size]
            found = free.take(size)
            assert found == ((min(fitting)[1], "arena") if fitting else None)
            if found is not None:
                taken[found[0]] = size
                left -= set(range(found[0], found[0] + size))
        assert free.total == len(left)
    for start, size in taken.items():
        free.give(start, size, "arena")
    assert free.size_at(0) == free.size_before(2000) == 2000


def test_ranges_of_two_arenas_stay_apart():
    free = FreeRanges()
    free.give(0, 100, "one")
    free.give(101, 50, "two")
    assert free.take(50) == (101, "two") and free.take(100) == (0, "one")
    assert free.take(1) is None and free.total == 0


def test_a_range_is_forgotten():
    free = FreeRanges()
    free.give(100, 50, None)
    free.give(200, 50, None)
    free.remove(100)
    assert (free.size_at(100), free.size_before(150), free.total) == (0, 0, 50)
    assert free.take(50) == (200, None)
