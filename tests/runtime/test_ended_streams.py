"""Streams of host devices that end while nobody waits for them."""

import gc
import weakref

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
