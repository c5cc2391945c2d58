"""Work that an exception in a waiting thread drops."""

import threading

import pytest
from tests.waiting import until

from gridlane.core.errors import KernelError
from gridlane.runtime.queues import host_queue
from gridlane.runtime.queues.host_queue import HostQueue, drop, wait


class Device:
    """A device whose launches look whether they are asked to stop."""

    def __init__(self):
        self.asked = set()

    def stop_thread(self, thread, wish):
        (self.asked.add if wish else self.asked.discard)(thread)

    def is_asked(self):
        return threading.get_ident() in self.asked


def test_a_launch_that_looks_late_is_stopped_and_no_later_one(monkeypatch):
    """Its thread had no processor while the others waited for its end."""
    monkeypatch.setattr(host_queue, "_PATIENCE_S", 0.02)
    device, begun, go_on, seen = Device(), threading.Event(), threading.Event(), []
    queue = HostQueue(device)

    def launch():
        begun.set()
        assert go_on.wait(60)
        until(device.is_asked)
        seen.append(device.is_asked())

    queue.put((launch, False))
    assert begun.wait(60)
    drop((queue,))
    go_on.set()
    assert wait(queue)
    with pytest.raises(KernelError, match="dropped"):
        queue.raise_error()
    queue.put((lambda: seen.append(device.is_asked()), False))
    assert wait(queue)
    assert seen == [True, False]
    queue.end()
