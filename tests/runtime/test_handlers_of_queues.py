"""Signal handlers that use a stream's queue at any point of code that uses it."""

import random
import signal
import threading

import pytest

from gridlane.core.errors import DeviceError
from gridlane.runtime.queues.host_queue import BUSY, Follow, HostQueue, Mark, wait
from gridlane.runtime.queues.native_queues import ALWAYS


class Device:
    """A device without launches to stop."""

    def stop_thread(self, thread, wish):
        pass


@pytest.fixture
def queue():
    made = HostQueue(Device())
    yield made
    wait(made)
    made.end()


@pytest.fixture
def soon():
    """What has a handler call a function once, soon. Code that arms it again goes on in between."""
    before = signal.getsignal(signal.SIGALRM)
    delays = random.Random(1)

    def arm(call):
        signal.signal(signal.SIGALRM, lambda *_: call())
        signal.setitimer(signal.ITIMER_REAL, delays.uniform(1e-5, 4e-4))

    yield arm
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)  # of one that is on its way
    signal.signal(signal.SIGALRM, before)


def test_a_handler_that_puts_work_and_waits(queue, soon):
    """All work is done, that of the interrupted code in its order."""
    done, handled = [], []

    def handle():
        number = len(handled)
        handled.append(number)
        queue.put((lambda: done.append(("handler", number)), 0))
        assert wait(queue) and ("handler", number) in done[-3000:]

    for n in range(3000):
        soon(handle)
        queue.put((lambda n=n: done.append(("code", n)), 0))
        if n % 3 == 0:
            queue.put_all(((lambda n=n: done.append(("more", n)), 0),))
        if n % 10 == 0:
            assert wait(queue) and done[-1][1] >= 0
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert wait(queue) and not BUSY
    assert [n for what, n in done if what == "code"] == list(range(3000))
    assert sorted(n for what, n in done if what == "handler") == handled and handled


def test_a_handler_whose_exception_leaves_a_wait(queue, soon):
    """The wait ends, what it waited for is dropped or done, and the queue goes on."""
    done = []

    class Left(Exception):
        pass

    def leave():
        raise Left

    for n in range(20):
        gate = threading.Event()
        queue.put((gate.wait, 0))
        threading.Timer(0.02, gate.set).start()
        with pytest.raises(Left):
            soon(leave)
            while True:
                wait(queue)
        gate.set()
        assert wait(queue)
        queue.error = None
        queue.put((lambda n=n: done.append(n), 0))
        assert wait(queue)
    assert done == list(range(20))


def test_a_wait_for_a_mark_that_would_not_end(queue):
    """A callback waits for a mark of a queue that waits for the callback's own."""
    other, mark, back, told = HostQueue(Device()), Mark(), Mark(), []
    first = threading.Event()

    def callback():
        assert first.wait(60)
        while other.waits_for is not queue:
            pass
        try:
            mark.wait()
        except DeviceError as error:
            told.append(str(error))

    queue.put((callback, 0))
    queue.pass_behind(back)
    other.put((Follow(back), ALWAYS))
    other.pass_behind(mark)
    first.set()
    assert wait(other) and wait(queue)
    assert len(told) == 1 and "NOT_PERMITTED" in told[0] and mark.is_passed()
    other.end()
