"""Parts of clusters of actors without a GPU: the copies of rings in the dialect, and what the host
does, with a stand-in for the launch."""

from __future__ import annotations

import ctypes
import threading
from collections import namedtuple
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gridlane
from gridlane import cuda
from gridlane.actors.device import receiving
from gridlane.actors.device.cluster_rings import come_near, go_away, nearest_of
from gridlane.actors.errors import ActorError
from gridlane.actors.layouts import wire
from gridlane.actors.layouts.blocks import InboxHeader
from gridlane.actors.layouts.python import dtype
from gridlane.actors.resident import cluster as clusters
from gridlane.actors.resident.cluster import Cluster, Member, check_room
from gridlane.core.device_errors import KernelStop, device_error
from gridlane.core.errors import DeviceError, LaunchError
from gridlane.frontends.python.stubs import load_words, load_words_anywhere, store_words_anywhere
from gridlane.memory.resource import Buffer

# ---- rings come near, and go away


Place = namedtuple("Place", "rings region")
nearest = nearest_of(True)
REGION = 2 * 64


@cuda.jit
def near(rings, elsewhere, out):
    thread = cuda.threadIdx.x
    come_near(thread, 0, rings, REGION)
    place = Place(rings, REGION)
    there = nearest(place, rings + 64)
    if thread < 2:
        words = load_words_anywhere(there + 16 * thread)
        out[thread] = words[0]
    cuda.syncthreads()
    if thread == 5:
        store_words_anywhere(there + 16, 91, 92, 93, 94)
        words = load_words(rings + 64 + 16)
        out[2] = words[0]  # the device's memory is as before
        out[3] = nearest(place, elsewhere) - elsewhere
        out[4] = nearest(place, rings + REGION) - rings
    if thread == 0:
        return  # as a handler that fails
    go_away(thread, 0, rings, REGION)


@pytest.mark.parametrize("threads", [64, 96])
def test_rings_are_in_shared_memory_meanwhile(threads):
    with gridlane.device("interp"):
        rings = cuda.to_device(np.arange(REGION // 4, dtype=np.uint32))
        out = cuda.to_device(np.full(5, -1, np.int64))
        start = rings.device_pointer
        near[1, threads, 0, REGION](start, out.device_pointer, out)
        assert out.copy_to_host().tolist() == [16, 20, 20, 0, REGION]
        wanted = [*range(20), 91, 92, 93, 94, *range(24, 32)]
        assert rings.copy_to_host().tolist() == wanted


# ---- the host's part


class Kernel:
    """A launch whose blocks leave as they are told to."""

    def __init__(self, device: Any, owner: Cluster, size: int, shared: int) -> None:
        self.context = SimpleNamespace(pausing=threading.RLock())
        self.owner, self.size, self.shared = owner, size, shared
        self.runs, self.rows, self.raised = False, [], None

    def start(self, params: bytes, keep: object) -> None:
        assert not self.runs
        self.rows = [row.copy() for row in self.owner._rows]
        self.runs = True

    def ended(self) -> bool:
        live = [m for m, row in zip(self.owner.members, self.rows) if row["launch"]]
        if all(each.there.left or each.has_told() for each in live):
            self.runs = False
        return not self.runs

    def stop(self) -> KernelStop | None:
        found, self.raised = self.raised, None
        return found

    def flush(self) -> None:
        pass

    def lost(self) -> None:
        self.runs = False


class There:
    """The engine's part of an actor."""

    def __init__(self) -> None:
        self.control = memoryview(bytearray(128))
        self.position = (0, 3, 4, 5, 6, 0, 0, 4)
        self.holds = 0
        self.left, self.calls = False, list[str]()
        self.follows = lambda: True

    def connect(self, *given: Any) -> None:
        pass

    def hold(self, timeout: float) -> bool:
        if not self.follows():
            return False
        self.holds += 1
        return True

    def release(self) -> None:
        self.holds -= 1

    def resides(self, raised: int) -> None:
        self.left = False
        self.calls.append("resides")

    def leaves(self) -> None:
        assert self.holds
        self.left = True

    def ends(self) -> None:
        self.calls.append("ends")

    def ended(self) -> None:
        self.calls.append("ended")


class Memory:
    """A device whose memory is the host's."""

    limits = SimpleNamespace(max_dynamic_shared=227 << 10)

    def __init__(self) -> None:
        self.default_stream = self

    def allocate(self, size: int) -> Buffer:
        data = (ctypes.c_uint8 * size)()
        return Buffer(ctypes.addressof(data), size, data, self)

    def allocate_host(self, size: int, kind: str) -> Buffer:
        return self.allocate(size)

    def write(self, address: int, data: memoryview) -> None:
        ctypes.memmove(address, bytes(data), data.nbytes)

    def resident(self, artifact: Any, block: Any, owner: Any, size: int, shared: int) -> Kernel:
        return Kernel(self, owner, size, shared)


def program(payload: int = 8, together: bool = False) -> Any:
    shape = receiving.shape_of(payload, together)
    form = SimpleNamespace(
        shape=shape,
        chunks=shape.chunks,
        out_chunks=shape.chunks,
        answer_bytes=64,
        block=96,
        timed=False,
    )
    return SimpleNamespace(
        actor=SimpleNamespace(name="player"),
        device=Memory(),
        form=form,
        plan=SimpleNamespace(kernel=SimpleNamespace(artifact=None)),
        state=np.dtype(np.int64),
        params=lambda rows, count, states, arrays, name: b"",
    )


@pytest.fixture
def made(monkeypatch):
    """A cluster of three that runs."""
    monkeypatch.setattr(clusters, "PATIENCE", 0.2)
    found = Cluster(program(), [11, 12, 13], 4)
    for n in range(3):
        Member(found, There(), "abc"[n], 11 + n, 4, 4)
    with found.away():
        for each in found.members:
            each.start(found.state(each.rank), (), 60)
    return found


def tell(member: Member, failed: int = 0) -> None:
    """As the kernel does at its end."""
    member._told[:2] = member.cluster.launches, failed


def test_one_launch_has_all(made):
    kernel = made._kernel
    assert (made.launches, kernel.size, kernel.shared) == (1, 3, made.region)
    assert [row["launch"] for row in kernel.rows] == [1, 1, 1]
    assert [row["number"] for row in kernel.rows] == [11, 12, 13]
    assert {(row["rings"], row["region"]) for row in kernel.rows} == {
        (made._rings.address, made.region)
    }
    assert all(each.started and each.is_here() for each in made.members)


def test_rings_are_empty_and_apart(made):
    seen = set()
    for receiver in range(3):
        for sender in range(3):
            ring = made.ring(sender, receiver)
            data = ctypes.string_at(ring.address, InboxHeader.size)
            head = np.frombuffer(data, dtype(InboxHeader))
            assert (head["token"][0], head["capacity"][0]) == (11 + receiver, 4)
            assert ring.size == wire.INBOX_HEAD + 4 * head["slot_bytes"][0]
            start = ring.address - made._rings.address
            assert start // made.region == receiver
            seen.update(range(start, start + ring.size))
    assert len(seen) == made._rings.size
    assert made.state(2).address - made.state(0).address == 16


def test_it_leaves_and_comes_back(made):
    with made.away():
        assert not made.runs() and not any(each.started for each in made.members)
        with made.away():
            assert not made.runs()
        assert not made.runs()  # the outer one is not over
    assert made.runs() and made.launches == 2
    assert all(each.started for each in made.members)
    assert all(each.there.holds == 0 for each in made.members)
    # A call of the driver that waits for all kernels does the same.
    made.ask_to_leave()
    assert made.leave()
    made.come_back()
    assert made.runs() and made.launches == 3


def test_one_that_has_ended_has_a_block_still(made):
    one = made.members[1]
    tell(one)
    assert one.wait(1) and not one.started and made.runs()
    with made.away():
        pass
    assert [row["launch"] for row in made._kernel.rows] == [2, 0, 2]
    assert one._kernel.ended() and not one.is_here()
    assert one.there.calls == ["resides", "ended"]
    one.start(made.state(1), (), 60)  # it begins again
    assert [row["launch"] for row in made._kernel.rows] == [3, 3, 3] and one.started


def test_a_handler_that_runs_on(made):
    made.members[2].there.follows = lambda: False
    with pytest.raises(DeviceError, match=r"a cluster \(a, b, c\) leaves .* of it runs on"):
        with made.away():
            raise AssertionError
    assert made.runs() and made.launches == 1
    assert not any(each.there.left or each.there.holds for each in made.members)
    made.members[2].there.follows = lambda: True
    with made.away():
        assert not made.runs()


def test_one_that_waits_for_room_is_held_first(made):
    a, b, _ = (each.there for each in made.members)
    b.follows = lambda: not a.holds  # a has no room for it while it is held
    with made.away():
        assert not made.runs()
    assert made.launches == 2


def test_one_that_hangs_while_it_ends_keeps_the_others(made):
    hangs = made.members[0]
    assert not hangs.finish(0.01)
    with pytest.raises(DeviceError, match="runs on"), made.away():
        raise AssertionError
    tell(hangs)
    with made.away():
        pass
    assert [row["launch"] for row in made._kernel.rows] == [0, 2, 2]


def test_each_has_its_own_error(made):
    one, two, three = made.members
    made._kernel.raised = KernelStop("first")
    made._kernel.raised.block = (1, 0, 0)
    assert isinstance(one.error(), ActorError) and "at the same time" in str(one.error())
    found = two.error()
    assert isinstance(found, KernelStop) and found.block == (1, 0, 0)
    assert "at the same time" in str(three.error())


def test_one_that_has_failed_stays_away(made):
    one = made.members[0]
    one.there.control[60:64] = bytes([1, 0, 0, 0])  # its error, which nobody has followed up
    with made.away():
        pass
    assert [row["launch"] for row in made._kernel.rows] == [0, 2, 2]


def test_a_launch_that_the_device_refuses(made, monkeypatch):
    def refuses(params, keep):
        raise device_error(720, "no room")

    monkeypatch.setattr(made._kernel, "start", refuses)
    assert not any(each.is_gone() for each in made.members)
    with pytest.raises(DeviceError, match="no room"), made.away():
        pass
    assert all(each.is_gone() for each in made.members)  # the supervisor ends them


def test_the_last_one_waits_for_the_launch(made):
    for each in made.members:
        tell(each)
    assert all(each.finish(1) for each in made.members)
    assert not made.runs() and not made._kernel.runs
    with made.away():
        pass
    assert made.launches == 1  # nobody is left


def test_refusals():
    with pytest.raises(LaunchError, match=r"8 rings of 256 messages take .* a smaller\s+capacity="):
        check_room(program(), 8, 256)
    check_room(program(), 8, 64)
    with pytest.raises(LaunchError, match="handles messages by one thread"):
        check_room(program(together=True), 2, 4)
    with pytest.raises(LaunchError, match="handles messages by one thread"):
        check_room(program(8000), 2, 4)
