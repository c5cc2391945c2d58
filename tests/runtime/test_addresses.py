"""Addresses are found in the piece of memory that holds them."""

from __future__ import annotations

import gc
import os
import random
import threading

from gridlane.runtime.addresses import AddressMap, LiveMap
from gridlane.runtime.protocol import Buffer


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


def test_buffers_go_when_nobody_holds_them():
    live, held = LiveMap(), [Buffer(256 * n, 100) for n in range(1, 5)]
    for buffer in held:
        live.add(buffer)
    assert live.find(256 + 50, 50) is held[0] and live.find(256 + 51, 50) is None
    assert live.find(0, 1) is None and live.buffers() == held
    del held[0], buffer
    gc.collect()
    assert live.find(256, 1) is None and live.buffers() == held


def test_memory_that_is_given_again_is_the_new_buffer_s():
    live = LiveMap()
    old = Buffer(256, 100)
    live.add(old)
    new = Buffer(256, 50)
    del old  # its end is not looked at before the new one is there
    live.add(new)
    assert live.find(256, 50) is new and live.find(256, 51) is None


def test_threads_and_a_collection_in_the_middle():
    live, errors = LiveMap(), []

    def work(base):
        try:
            for n in range(300):
                buffer = Buffer(base + 256 * (n % 7), 256)
                buffer.owner = [buffer]  # ends when the collector runs
                live.add(buffer)
                assert live.find(buffer.address + 9, 8) is buffer
                if n % 50 == 0:
                    gc.collect()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(1 << 20 + n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    gc.collect()
    assert live.buffers() == []


def test_a_fork_while_other_threads_allocate():
    live, done = LiveMap(), threading.Event()
    kept = Buffer(1 << 30, 256)
    live.add(kept)

    def work():
        while not done.is_set():
            live.add(Buffer(4096, 256))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                os._exit(0 if live.find(1 << 30, 8) is kept else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        done.set()
        thread.join()
