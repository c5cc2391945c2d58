"""Streams of host devices that end while nobody waits for them."""

import gc
import sys
import weakref

import pytest
from tests.waiting import until

from gridlane.runtime.queues.host_stream import OwnHostStream


class Device:
    """A device without launches to stop."""

    name = "none"

    def stop_thread(self, thread, wish):
        pass


def test_little_is_left_of_ended_streams():
    done, queues = [], weakref.WeakSet()
    for n in range(200):
        stream = OwnHostStream(Device())
        queues.add(stream.queue)
        stream.submit(lambda n=n: done.append(n))
        until(lambda n=n: len(done) > n)
    del stream
    until(lambda: gc.collect() >= 0 and len(queues) < 50)
    assert done == list(range(200))


# Python's own function for dead entries of a WeakValueDictionary meets the exception as well.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_thread_ends_though_an_exception_comes_into_each_function_of_python():
    """As a signal handler's may."""

    def raises(*_):
        raise KeyboardInterrupt

    stream = OwnHostStream(Device())
    queue = stream.queue
    stream.submit(lambda: None)
    until(stream.query)
    assert queue.thread is not None
    sys.setprofile(raises)
    del stream
    sys.setprofile(None)
    until(lambda: queue.thread is None)
