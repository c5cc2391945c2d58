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


def test_little_is_left_of_ended_streams():
    done, queues = [], weakref.WeakSet()
    for n in range(200):
        stream = OwnHostStream(Device())
        queues.add(stream.queue)
        stream.submit(lambda n=n: done.append(n))
        while len(done) <= n:
            time.sleep(0.001)
    del stream
    for _ in range(6000):
        gc.collect()
        if len(queues) < 50:
            break
        time.sleep(0.01)
    assert done == list(range(200)) and len(queues) < 50
