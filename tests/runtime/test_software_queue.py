"""The queue of work that streams share: its thread begins, ends, and begins again."""

from __future__ import annotations

import threading
import weakref

from tests.waiting import until

from gridlane.runtime.queues.native_queues import native
from gridlane.runtime.queues.software_queue import SoftwareQueue


class Calls(SoftwareQueue):
    def _do(self, item):
        item()


def ended(queue):
    """Wait until the queue's thread has left it."""
    queue.end()
    until(lambda: queue.thread is None)
    return queue


def test_work_is_done_in_order():
    queue, seen = Calls(), []
    for n in range(1000):
        queue.append(lambda n=n: seen.append(n))
    queue.wait()
    assert seen == list(range(1000)) and not queue.pending


def test_work_behind_the_end_is_done():
    queue, seen = Calls(), []
    queue.append(lambda: seen.append(1))
    queue.wait()
    ended(queue)
    for n in range(2, 20):
        queue.append(lambda n=n: seen.append(n))
        queue.wait()
    assert seen == list(range(1, 20))


def test_who_waits_while_the_queue_ends_goes_on():
    for _ in range(300):
        queue = Calls()
        queue.append(lambda: None)
        ender = threading.Thread(target=queue.end)
        ender.start()
        queue.wait()
        queue.append(lambda: None)
        queue.wait()
        ender.join()
        assert not queue.pending


class Owner:
    """With which a queue ends."""


def test_a_queue_ends_with_its_owner_behind_the_work():
    queue, gate, seen, owner = Calls(), threading.Event(), [], Owner()
    queue.end_with(owner)
    queue.append(gate.wait)
    queue.append(lambda: seen.append(1))
    del owner
    gate.set()
    until(lambda: queue.thread is None and not queue.pending)
    assert seen == [1]


def test_an_owner_outlives_its_queue():
    """Nothing ends later: another queue may have the address."""
    owner, queue = Owner(), Calls()
    queue.end_with(owner)
    assert weakref.getweakrefcount(owner) == 1
    del queue
    assert weakref.getweakrefcount(owner) == 0


def test_no_thread_is_left():
    before = set(threading.enumerate())
    for _ in range(50):
        queue = Calls()
        queue.append(lambda: None)
        queue.append(lambda: None)
        queue.wait()
        ended(queue)
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
    assert not set(threading.enumerate()) - before


def test_a_wait_is_for_the_work_before_it_alone():
    queue, first, second = Calls(), threading.Event(), threading.Event()
    queue.append(first.wait)
    count = queue.awaited()
    queue.append(second.wait)
    first.set()
    assert native.wait(queue.address, 0, count, 0)
    assert queue.pending == 1
    second.set()
    queue.wait()
    assert not queue.pending


def test_a_thread_serves_one_queue_after_the_other():
    seen = []
    for n in range(200):
        queue = Calls()
        queue.keeps_thread = n == 100
        queue.append(lambda n=n: seen.append((n, threading.get_ident())))
        queue.wait()
        spent = queue.thread
        ended(queue)
        if n == 100:
            assert spent is not None
            spent.join(30)  # no other queue gets it
            assert not spent.is_alive()
    assert [n for n, _ in seen] == list(range(200))
    assert len({ident for _, ident in seen}) < 50


def together(use, count):
    """Call a function in so many threads, each with a number of its own."""
    threads = [threading.Thread(target=use, args=(1000 * k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)


def test_queues_that_begin_and_end_at_once():
    seen = []

    def use(start):
        for n in range(300):
            queue = Calls()
            queue.append(lambda n=n: seen.append(start + n))
            queue.end()
            queue.wait()

    together(use, 6)
    assert sorted(seen) == [1000 * k + n for k in range(6) for n in range(300)]


def test_many_threads_append_and_wait():
    queue, seen = Calls(), []

    def use(start):
        for n in range(200):
            queue.append(lambda: seen.append(start + n))
            queue.wait()

    together(use, 4)
    assert len(seen) == 800 and not queue.pending


def test_an_error_is_kept_and_the_rest_is_done():
    queue, seen = Calls(), []
    queue.append(lambda: 1 / 0)
    queue.append(lambda: seen.append(1))
    queue.wait()
    assert isinstance(queue.error, ZeroDivisionError) and seen == [1]
