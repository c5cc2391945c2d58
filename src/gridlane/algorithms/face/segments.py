"""``segmented_reduce``."""

from __future__ import annotations

from typing import Any

from gridlane.algorithms.face.calling import (
    Prepared,
    access,
    called,
    check_fits,
    checked_count,
    initial,
    made,
    readable,
    writable,
)
from gridlane.algorithms.inner.scratch import Layout
from gridlane.algorithms.inner.segmented_reduce import reduce_segments
from gridlane.algorithms.operators import operator
from gridlane.algorithms.sequences import IteratorBase


def offsets(value: Any, name: str, segments: int) -> IteratorBase:
    """An input of the offsets of segments.

    Raises:
        TypeError: they are no integers.
    """
    source = readable(value, name, segments)
    if source.item is not None and source.item.dtype.kind not in "iu":
        raise TypeError(f"{name}: offsets are integers; got {source.item.dtype}")
    return source


@called
def segmented_reduce(
    *,
    d_in: Any,
    d_out: Any,
    num_segments: int,
    start_offsets_in: Any,
    end_offsets_in: Any,
    op: Any,
    h_init: Any,
    max_segment_size: int | None = None,
) -> Prepared:
    """Store ``h_init op d_in[start] op … op d_in[end - 1]`` of each segment; see ``reduce_into``.

    Args:
        max_segment_size: no segment has more items; it changes no result.

    Raises:
        TypeError, ValueError, CompileError: as ``reduce_into``.
        RuntimeError: 2**31 segments or more.
    """
    segments = checked_count(num_segments, "num_segments")
    if segments >= 1 << 31:
        raise RuntimeError(f"num_segments is {segments}; there may be 2**31 - 1 of them")
    if max_segment_size is not None:
        checked_count(max_segment_size, "max_segment_size")
    source, sink = readable(d_in, "d_in"), writable(d_out, "d_out", segments)
    starts = offsets(start_offsets_in, "start_offsets_in", segments)
    ends = offsets(end_offsets_in, "end_offsets_in", segments)
    item, init = initial(h_init, sink, "h_init")
    check_fits(item, source.item, "segmented_reduce dtype mismatch: input dtype")
    if sink.item is not None:
        check_fits(sink.item, item, "segmented_reduce dtype mismatch: h_init dtype")
    combine = operator(op, 2, item)

    def launch(parts: list[Any], stream: Any) -> None:
        reduce_segments(
            access(source), access(sink), access(starts), access(ends), combine, item, init,
            segments, stream,
        )  # fmt: skip

    key = (source.kind, sink.kind, starts.kind, ends.kind, combine.key, item)
    return Prepared(key, (source, sink, starts, ends), Layout(()), launch)


make_segmented_reduce = made(
    "segmented_reduce",
    segmented_reduce,
    "The reductions of such arguments as an object, ``Algorithm``.",
    {"num_segments": 0, "max_segment_size": None},
)
