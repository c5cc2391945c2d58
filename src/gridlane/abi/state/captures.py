"""Captures: the work of streams becomes the nodes of a graph."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from gridlane.abi.failure import (
    CAPTURED_EVENT,
    ILLEGAL_STATE,
    NOT_SUPPORTED,
    STREAM_CAPTURE_IMPLICIT,
    STREAM_CAPTURE_INVALIDATED,
    STREAM_CAPTURE_ISOLATION,
    STREAM_CAPTURE_MERGE,
    STREAM_CAPTURE_UNJOINED,
    STREAM_CAPTURE_UNMATCHED,
    STREAM_CAPTURE_UNSUPPORTED,
    STREAM_CAPTURE_WRONG_THREAD,
    Failure,
    fail,
)
from gridlane.abi.state.contexts import Context, refuse_all
from gridlane.abi.state.graphs import Graph, Node
from gridlane.abi.state.streams import LEGACY, NON_BLOCKING, Event, Stream, Work, note_captured
from gridlane.core.cuda_table import enums
from gridlane.runtime.queues.native_queues import native

GLOBAL, THREAD_LOCAL, RELAXED = enums()["CUstreamCaptureMode"].values.values()

_numbers = itertools.count(1)
_active: set[Capture] = set()


@dataclass(slots=True, eq=False)
class Place:
    """The place of a stream in a capture.

    Attributes:
        after: the nodes that its next node follows.
        seen: the captured nodes that are before its next one, by its own order and by events.
            Changes that a program makes to ``after`` or to the graph do not change them.
    """

    capture: Capture
    stream: Stream
    after: dict[Node, None]
    seen: set[Node]

    def append(self, work: Work) -> None:
        """Make a node of work."""
        self.capture.check()
        node = self.capture.graph.add(work, self.after)
        self.capture.made.add(node)
        self.seen.add(node)
        self.after = {node: None}

    def refuse(self) -> NoReturn:
        """Invalidate the capture, and raise STREAM_CAPTURE_UNSUPPORTED."""
        self.capture.check()
        self.capture.refuse("what was called on a captured stream")

    def abandon(self) -> None:
        """Leave the capture, as the stream ends: its nodes stay, and those that nothing waits for
        are unjoined at the capture's end. The capture ends with the stream that it began in."""
        if self.capture.origin is self.stream:
            self.capture.abandon()
        else:
            self.capture.leave(self.stream)


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """The place of an event in a capture."""

    capture: Capture
    after: dict[Node, None]
    seen: frozenset[Node]

    def refuse(self) -> NoReturn:
        """Invalidate the capture, and raise CAPTURED_EVENT."""
        self.capture.valid = False
        fail(CAPTURED_EVENT, "the event was recorded in a capture, so it does not execute")


class Capture:
    """A capture.

    Args:
        origin: the stream that it begins in.
        graph: that it makes nodes in; None for one of its own.
        after: the nodes of the graph that the first one follows.

    Attributes:
        made: the nodes that it made.
        valid: whether nothing happened that cannot be captured.
        thread: the number of the one that began it.
    """

    def __init__(
        self, origin: Stream, mode: int, graph: Graph | None = None, after: tuple[Node, ...] = ()
    ) -> None:
        self.origin, self.mode, self.number = origin, mode, next(_numbers)
        self.owns_graph = graph is None
        self.graph = graph if graph is not None else Graph()
        self.graph.captures += 1
        self.made: set[Node] = set()
        self.valid, self.thread = True, threading.get_ident()
        self.streams: dict[Stream, Place] = {}
        self.join(origin, dict.fromkeys(after), set())
        _active.add(self)
        native.count_refusals(1)

    def join(self, stream: Stream, after: dict[Node, None], seen: set[Node]) -> None:
        """Capture the work of a stream as well."""
        self.streams[stream] = stream.capture = Place(self, stream, after, seen)
        stream.context.captures.add(self)
        note_captured(stream, True)

    def leave(self, stream: Stream) -> None:
        """Return a stream to executing its work."""
        stream.capture = None
        note_captured(stream, False)
        self.streams.pop(stream, None)
        if all(each.context is not stream.context for each in tuple(self.streams)):
            stream.context.captures.discard(self)

    def check(self) -> None:
        """Raise STREAM_CAPTURE_INVALIDATED if something happened that cannot be captured."""
        if not self.valid:
            fail(STREAM_CAPTURE_INVALIDATED, "the capture met what it cannot capture: end it")

    def refuse(self, what: str) -> NoReturn:
        """Invalidate it, and raise STREAM_CAPTURE_UNSUPPORTED."""
        self.valid = False
        fail(STREAM_CAPTURE_UNSUPPORTED, f"{what} is not captured")

    @property
    def blocks(self) -> bool:
        """Whether the legacy default stream waits for one of its streams."""
        return any(not each.flags & NON_BLOCKING for each in tuple(self.streams))

    def check_legacy(self) -> None:
        """Invalidate it, and raise STREAM_CAPTURE_IMPLICIT, if the legacy default stream waits for
        its streams."""
        if self.blocks:
            self.valid = False
            fail(
                STREAM_CAPTURE_IMPLICIT,
                "the legacy default stream waits for a stream that is captured: use another, or "
                "capture one that is made with CU_STREAM_NON_BLOCKING",
            )

    def abandon(self) -> None:
        """End it without a graph."""
        self._end()
        self.valid = False
        if self.owns_graph:
            self.graph.end()

    def finish(self) -> Graph:
        """End it, and return its graph.

        Raises:
            Failure: STREAM_CAPTURE_INVALIDATED; STREAM_CAPTURE_UNJOINED, the origin does not wait
                for all nodes. The capture has ended then as well, and its graph is null.
        """
        try:
            self.check()
            if self.made - self.streams[self.origin].seen:
                fail(
                    STREAM_CAPTURE_UNJOINED,
                    "another stream has captured work that the first one does not wait for: let "
                    "it wait for an event behind that work",
                )
        except Failure as failure:
            self.abandon()
            raise Failure(failure.number, failure.what, (0,)) from None  # a null graph
        self._end()
        return self.graph

    def _end(self) -> None:
        _active.discard(self)
        self.graph.captures -= 1
        for stream in tuple(self.streams):
            self.leave(stream)
        native.count_refusals(-1)


def begin(
    stream: Stream, mode: int, graph: Graph | None = None, after: tuple[Node, ...] = ()
) -> None:
    """Capture the work of a stream from now on.

    Raises:
        Failure: ILLEGAL_STATE, it is captured already; STREAM_CAPTURE_UNSUPPORTED, it is the legacy
            default stream.
    """
    if stream.handle == LEGACY:
        fail(STREAM_CAPTURE_UNSUPPORTED, "the legacy default stream cannot be captured")
    if stream.capture is not None:
        fail(ILLEGAL_STATE, "the stream is captured already: end that capture first")
    Capture(stream, mode, graph, after)


def place(stream: Stream) -> Place | None:
    """The place of a stream in its capture, if it is captured."""
    capture_place = stream.capture
    assert capture_place is None or isinstance(capture_place, Place)
    return capture_place


def end(stream: Stream) -> Graph:
    """End the capture that began in a stream, and return its graph.

    Raises:
        Failure: ILLEGAL_STATE, STREAM_CAPTURE_UNMATCHED or STREAM_CAPTURE_WRONG_THREAD, it cannot
            be ended here; and those of ``Capture.finish``.
    """
    capture_place = place(stream)
    if capture_place is None:
        fail(ILLEGAL_STATE, "no capture began on this stream")
    capture = capture_place.capture
    if capture.origin is not stream:
        capture.valid = False
        fail(STREAM_CAPTURE_UNMATCHED, "end the capture on the stream that it began on")
    if capture.mode != RELAXED and capture.thread != threading.get_ident():
        fail(STREAM_CAPTURE_WRONG_THREAD, "end the capture on the thread that began it")
    return capture.finish()


def of_context(context: Context) -> list[Capture]:
    """The captures in progress with a stream of a context."""
    return [
        each for each in tuple(_active) if context in {one.context for one in tuple(each.streams)}
    ]


# --- events ---


def record(stream: Stream, event: Event) -> None:
    """Record an event after the work of a stream, which may be captured."""
    capture_place = place(stream)
    if capture_place is None:
        event.record(stream)
    else:
        capture_place.capture.check()
        event.capture(
            Mark(capture_place.capture, dict(capture_place.after), frozenset(capture_place.seen))
        )


def wait(stream: Stream, event: Event) -> None:
    """Order later work of a stream behind an event. One that was recorded in a capture brings the
    stream into the capture.

    Raises:
        Failure: STREAM_CAPTURE_ISOLATION or STREAM_CAPTURE_MERGE, captured work would wait for work
            outside the capture; and others of captures.
    """
    here, mark = place(stream), event.mark
    if not isinstance(mark, Mark):
        if here is None:
            if event.recorded:
                event.point.wait(stream.queue)
            return
        here.capture.check()
        if event.recorded:
            here.capture.valid = False
            fail(STREAM_CAPTURE_ISOLATION, "captured work cannot wait for work outside the capture")
        return
    capture = mark.capture
    if capture not in _active:
        mark.refuse()
    if here is not None and here.capture is not capture:
        capture.valid = here.capture.valid = False
        fail(STREAM_CAPTURE_MERGE, "the stream and the event are in two captures")
    capture.check()
    if here is not None:
        here.after |= mark.after
        here.seen |= mark.seen
        return
    if stream.handle == LEGACY:
        capture.refuse("waiting of the legacy default stream")
    if stream.context.device is not capture.origin.context.device:
        capture.valid = False
        fail(NOT_SUPPORTED, "a capture of streams of two devices: capture each of its own")
    capture.join(stream, dict(mark.after), set(mark.seen))


# --- calls that a capture does not see ---


class _Thread(threading.local):
    """The capture mode of a thread's calls."""

    def __init__(self) -> None:
        self.mode: int = GLOBAL


_thread = _Thread()

UNSAFE = frozenset(
    [
        "cuMemAlloc", "cuMemAllocPitch", "cuMemAllocManaged", "cuMemAllocHost", "cuMemHostAlloc",
        "cuMemFree", "cuMemFreeHost", "cuMemHostRegister", "cuMemHostUnregister", "cuArrayCreate",
        "cuArray3DCreate", "cuMipmappedArrayCreate", "cuEventQuery", "cudaMalloc",
        "cudaMallocPitch", "cudaMalloc3D", "cudaMallocManaged", "cudaMallocHost", "cudaHostAlloc",
        "cudaFree", "cudaFreeHost", "cudaHostRegister", "cudaHostUnregister", "cudaMallocArray",
        "cudaMalloc3DArray", "cudaMallocMipmappedArray", "cudaEventQuery",
    ]
)  # fmt: skip
"""The functions that are not in the order of streams, so that a graph would not repeat them."""


def exchange(mode: int) -> int:
    """Set the mode of this thread, and return the one before."""
    before, _thread.mode = _thread.mode, mode
    return before


def check_unsafe(name: str) -> None:
    """Refuse a function of ``UNSAFE`` during captures that forbid it on this thread.

    Raises:
        Failure: STREAM_CAPTURE_UNSUPPORTED; all such captures are invalid then.
    """
    if not _active or name not in UNSAFE or _thread.mode == RELAXED:
        return
    thread = threading.get_ident()
    what = f"{name}, which is not in the order of a stream,"
    refuse_all(
        partial(each.refuse, what)
        for each in tuple(_active)
        if (each.thread == thread and each.mode != RELAXED)
        or (_thread.mode == GLOBAL and each.mode == GLOBAL)
    )
