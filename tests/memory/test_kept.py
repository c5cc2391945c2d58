"""Freed memory of the host that a resource keeps for later buffers."""

import threading

import pytest

from gridlane.core.config import config
from gridlane.memory import host
from gridlane.memory.host import LEAST_KEPT, HostResource

SIZE = 1 << 20


def test_later_buffers_of_nearly_the_size_have_the_memory():
    resource = HostResource()
    address = resource.allocate(SIZE).address
    held = resource.reserved
    for size in (SIZE, SIZE - 1000, SIZE + 1000):
        buffer = resource.allocate(size)
        assert (buffer.address, buffer.size, resource.reserved) == (address, size, held)
        del buffer
    both = resource.allocate(SIZE), resource.allocate(SIZE)
    assert both[0].address != both[1].address
    assert resource.reserved == 2 * held


def test_no_more_is_kept_than_allowed(monkeypatch):
    resource = HostResource()
    monkeypatch.setattr(host, "MOST_KEPT", 3 * SIZE)
    buffers = [resource.allocate(SIZE) for _ in range(8)]
    buffers.append(resource.allocate(4 * SIZE))
    del buffers
    assert 0 < resource.reserved <= 3 * SIZE
    resource.trim(SIZE + SIZE // 2)
    assert 0 < resource.reserved <= SIZE + SIZE // 2
    resource.trim()
    assert resource.reserved == 0


def test_small_buffers_and_checked_ones_are_not_kept(monkeypatch):
    resource = HostResource()
    small = resource.allocate(LEAST_KEPT // 2)
    del small
    assert resource.reserved == 0
    monkeypatch.setenv("GRIDLANE_CHECK", "1")
    config.cache_clear()
    try:
        large = resource.allocate(SIZE)
        del large
        assert resource.reserved == 0
    finally:
        monkeypatch.undo()
        config.cache_clear()


def test_threads():
    resource = HostResource()

    def work() -> None:
        for number in range(300):
            buffer = resource.allocate(SIZE + number % 3)
            assert buffer.size == SIZE + number % 3

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    held = resource.reserved
    resource.trim()
    assert held > 0 and resource.reserved == 0


@pytest.mark.parametrize("size", (1 << 62, 1 << 45))
def test_sizes_that_no_system_has(size):
    with pytest.raises(Exception, match=f"{size} bytes"):
        HostResource().allocate(size)
