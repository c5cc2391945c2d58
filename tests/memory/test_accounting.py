"""Live buffers: who finds them, and what they count."""

from __future__ import annotations

import gc
import os
import threading

from gridlane.memory.accounting import Accounting
from gridlane.memory.resource import Buffer


def test_buffers_go_when_nobody_holds_them():
    live, held = Accounting(), [Buffer(256 * n, 100) for n in range(1, 5)]
    for buffer in held:
        live.add(buffer)
    assert live.find(256 + 50, 50) is held[0] and live.find(256 + 51, 50) is None
    assert live.find(0, 1) is None and live.buffers() == held
    del held[0], buffer
    gc.collect()
    assert live.find(256, 1) is None and live.buffers() == held


def test_memory_that_is_given_again_is_the_new_buffer_s():
    live = Accounting()
    old = Buffer(256, 100)
    live.add(old)
    new = Buffer(256, 50)
    del old  # its end is not looked at before the new one is there
    live.add(new)
    assert live.find(256, 50) is new and live.find(256, 51) is None


def test_threads_and_a_collection_in_the_middle():
    live, errors = Accounting(), []

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
    live, done = Accounting(), threading.Event()
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
