"""Addresses are found in the piece of memory that holds them."""

from __future__ import annotations

import random

from gridlane.memory.addresses import AddressMap


def test_against_a_scan():
    pieces, found, choose = {}, AddressMap(), random.Random(5)
    for _ in range(2000):
        start = choose.randrange(1000) * 64
        if start in pieces and choose.random() < 0.5:
            found.remove(start)
            del pieces[start]
        elif start not in pieces or choose.random() < 0.5:
            pieces[start] = size = choose.randint(1, 64)
            found.add(start, size, (start, size))
        address, length = choose.randrange(64_200), choose.choice((0, 1, 8, 64))
        want = [
            ((start, size), address - start)
            for start, size in pieces.items()
            if start <= address and address + length <= start + size
        ]
        have = found.find(address, length)
        assert have in want if length == 0 and want else have == (want[0] if want else None)
        assert found.at(start) == ((start, pieces[start]) if start in pieces else None)
    assert found.pieces() == sorted(pieces.items())


def test_the_number_of_pieces_does_not_matter():
    class Counted(int):
        compared = 0

        def __lt__(self, other):
            Counted.compared += 1
            return int(self) < other

    found = AddressMap()
    for start in range(0, 100_000 * 256, 256):
        found.add(start, 256, start)
    assert found.find(Counted(777 * 256 + 5), 8) == (777 * 256, 5)
    assert Counted.compared <= 20


def test_a_piece_that_took_the_place_of_another_stays():
    found, old, new = AddressMap(), object(), object()
    found.add(256, 64, old)
    found.add(256, 32, new)
    found.discard(256, old)
    assert found.find(256, 32) == (new, 0)
    found.discard(256, new)
    found.discard(256, new)  # nothing is there any more
    assert found.find(256, 1) is None and found.pieces() == []
