"""Streams of host devices that end while nobody waits for them."""

import gc
import time
import weakref

from gridlane.runtime.queues.host_stream import OwnHostStream


class Device:
    """A device without launches to stop."""

    name = "none"

    def stop_thread(self, thread, wish):
        pass


def test_nothing_is_left_of_an_ended_stream():
    done = []
    stream = OwnHostStream(Device())
    queue = weakref.ref(stream.queue)
    for n in range(3):
        stream.submit(lambda n=n: done.append(n))
    del stream
    for _ in range(500):
        gc.collect()
        if queue() is None:
            break
        time.sleep(0.01)
    assert done == [0, 1, 2] and queue() is None
