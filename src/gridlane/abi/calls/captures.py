"""Captures of streams."""

from __future__ import annotations

from gridlane.abi.calls.graphs import check_edges, dependencies_at, plain_edges
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import ILLEGAL_STATE, INVALID_VALUE, STREAM_CAPTURE_IMPLICIT, fail
from gridlane.abi.state import captures, contexts, streams
from gridlane.abi.state.captures import Place
from gridlane.abi.state.graphs import graph
from gridlane.abi.state.streams import LEGACY
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import enums

NONE, ACTIVE, INVALIDATED = enums()["CUstreamCaptureStatus"].values.values()
_ADD, _SET = enums()["CUstreamUpdateCaptureDependencies_flags"].values.values()


def check_mode(mode: int) -> None:
    """Raise INVALID_VALUE for what is no mode of captures."""
    if mode not in (captures.GLOBAL, captures.THREAD_LOCAL, captures.RELAXED):
        fail(INVALID_VALUE, f"no mode of captures has the number {mode}")


def place_of(handle: int) -> Place | None:
    """The place of a stream in its capture. A query of the legacy default stream may be refused,
    but leaves other captures valid."""
    if 0 <= handle <= LEGACY:
        if any(each.blocks for each in captures.of_context(contexts.current())):
            fail(STREAM_CAPTURE_IMPLICIT, "a stream is captured that the legacy one waits for")
        return None
    return captures.place(streams.stream(handle))


@implements("cuStreamBeginCaptureToGraph", "cudaStreamBeginCaptureToGraph")
def begin_to_graph(
    handle: int, target: int, dependencies: int, data: Struct | None, count: int, mode: int
) -> None:
    """Capture the work of a stream as further nodes of a graph."""
    check_mode(mode)
    graph_object = graph(target)
    check_edges(data, count)
    after = tuple(dependencies_at(dependencies, count, graph_object))
    captures.begin(streams.stream(handle), mode, graph_object, after)


def status_of(place: Place | None) -> int:
    """The state of a stream by its place in a capture."""
    if place is None:
        return NONE
    return ACTIVE if place.capture.valid else INVALIDATED


@implements("cuStreamGetCaptureInfo")
def info(handle: int) -> tuple[int, int]:
    """The state of a stream, and the number of its capture."""
    place = place_of(handle)
    return status_of(place), place.capture.number if place is not None else 0


@implements("cuStreamGetCaptureInfo_v2", "cudaStreamGetCaptureInfo_v2")
def info_2(handle: int) -> tuple[int, int, int, list[int], int]:
    """The state of a stream, its capture's number and graph, and the nodes that the next one is to
    follow, with their number."""
    capture_place = place_of(handle)
    status = status_of(capture_place)
    if capture_place is None or status != ACTIVE:
        return status, 0, 0, [], 0
    after = [each.handle for each in capture_place.after]
    return (
        status,
        capture_place.capture.number,
        capture_place.capture.graph.handle,
        after,
        len(after),
    )


@implements("cuStreamGetCaptureInfo_v3", "cudaStreamGetCaptureInfo", "cudaStreamGetCaptureInfo_v3")
def info_3(handle: int) -> tuple[int, int, int, list[int], list[Struct], int]:
    """``info_2``, with the data of the edges before their number."""
    status, number, target, after, count = info_2(handle)
    return status, number, target, after, plain_edges(count), count


@implements("cuStreamUpdateCaptureDependencies", "cudaStreamUpdateCaptureDependencies@12")
def update(handle: int, dependencies: int, count: int, flags: int) -> None:
    """Change the nodes that the next one of a captured stream is to follow."""
    if flags not in (_ADD, _SET):
        fail(INVALID_VALUE, f"changing dependencies with the flags {flags:#x}")
    capture_place = place_of(handle)
    if capture_place is None:
        fail(ILLEGAL_STATE, "the stream is not captured")
    capture_place.capture.check()
    after = dict.fromkeys(dependencies_at(dependencies, count, capture_place.capture.graph))
    capture_place.after = after if flags == _SET else capture_place.after | after
