"""The lanes of queues, which others append work to, when signal handlers interrupt the queue."""

import signal
import threading

import pytest

from gridlane.runtime.queues.host_queue import HostQueue, is_quiet, wait


class Device:
    """A device without launches to stop."""

    def stop_thread(self, thread, wish):
        pass


class Lane:
    """A lane of lists: ``batch`` is what it appends to while it is open."""

    def __init__(self):
        self.batch = None
        self.after_close = lambda: None

    def open(self):
        batch = self.batch = []
        return (lambda: [each() for each in batch]), False

    def close(self):
        self.batch = None
        self.after_close()

    def withdraw(self):
        pass

    def settle(self):
        return False

    def is_open(self):
        return self.batch is not None

    def append(self, work):
        """Append work, as C does; false if the lane is closed."""
        if self.batch is not None:
            self.batch.append(work)
        return self.batch is not None


class StayingLane(Lane):
    """A lane whose piece waits for more until it is closed, as C's does."""

    def __init__(self):
        super().__init__()
        self.closed = threading.Event()

    def open(self):
        self.batch, closed = [], threading.Event()
        self.closed = closed
        return closed.wait, False

    def close(self):
        super().close()
        self.closed.set()


@pytest.fixture
def interrupted():
    """A queue that is busy until ``hold`` is set, and a lane that a handler opens once, just after
    the queue has closed it."""
    queue, lane, hold = HostQueue(Device()), Lane(), threading.Event()
    queue.lane = lane
    queue.put((hold.wait, False))

    def opens(*_):
        lane.after_close = lambda: None
        queue.put_open(lane.open)

    before = signal.signal(signal.SIGUSR1, opens)
    lane.after_close = lambda: signal.raise_signal(signal.SIGUSR1)
    yield queue, lane, hold
    signal.signal(signal.SIGUSR1, before)
    hold.set()
    queue.wait()
    queue.forget_if_empty()
    queue.end()


@pytest.mark.parametrize("put", ["put", "put_all"])
def test_a_handler_that_launches_while_work_is_put(put, interrupted):
    """What comes to the lane later is not done before that work."""
    queue, lane, hold = interrupted
    done = []
    first, second = (lambda: done.append(1)), (lambda: done.append(2))
    queue.put((first, False)) if put == "put" else queue.put_all(((first, False),))
    if not lane.append(second):
        queue.put((second, False))
    hold.set()
    queue.wait()
    assert done == [1, 2]


def test_a_handler_that_launches_while_a_lane_is_opened(interrupted):
    queue, lane, hold = interrupted
    done = []
    queue.put_open(lane.open)
    for n in range(3):
        if not lane.append(lambda n=n: done.append(n)):
            queue.put((lambda n=n: done.append(n), False))
    queue.put((lambda: done.append(3), False))
    hold.set()
    queue.wait()
    assert done == [0, 1, 2, 3]


def test_a_handler_that_puts_work_while_a_lane_is_told_to_rest():
    """Nobody else answers for the queue then, which has work."""
    queue, lane, hold, rests = HostQueue(Device()), Lane(), threading.Event(), []
    queue.lane = lane
    lane.after_close = rests.clear

    def rest():
        queue.put((hold.wait, False))  # as a handler does just before it rests
        rests.append(True)

    queue.if_idle(rest)
    assert queue.pending and not rests
    hold.set()
    queue.wait()
    queue.forget_if_empty()
    queue.end()


def test_a_lane_that_others_open_holds_nobody_up():
    """Who waits goes on at a moment without work, whoever opens the lane meanwhile."""
    queue, lane, hold = HostQueue(Device()), StayingLane(), threading.Event()
    queue.lane = lane
    queue.put((hold.wait, False))
    nothing = queue.nothing_pending()
    queue.put_open(lane.open)
    assert not lane.is_open()
    hold.set()
    waiting = threading.Thread(target=nothing.wait, daemon=True)
    waiting.start()
    waiting.join(60)
    assert nothing.is_reached()
    wait(queue)
    queue.end()


def test_streams_are_quiet_beside_open_lanes():
    queue, lane, hold = HostQueue(Device()), StayingLane(), threading.Event()
    queue.lane = lane
    assert is_quiet()
    queue.put((hold.wait, False))
    assert not is_quiet()
    queue.put_open(lane.open)
    assert is_quiet() and lane.is_open()  # who has the lane knows that work comes before it
    hold.set()
    lane.close()
    wait(queue)
    assert is_quiet()
    queue.put((lambda: 1 / 0, False))
    wait(queue)
    assert not is_quiet()
    with pytest.raises(ZeroDivisionError):
        queue.raise_error()
    assert is_quiet()
    queue.put_open(lane.open)
    queue.end()  # which ends the piece, and the thread
    while queue.thread is not None:
        pass
    queue.forget_if_empty()
