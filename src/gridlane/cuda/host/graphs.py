"""Graphs: work of a stream that is recorded once, and launched any number of times.

>>> from gridlane import cuda
>>> stream, x = cuda.stream(), cuda.to_device([1.0, 2.0])
>>> @cuda.jit
... def double(x):
...     x[cuda.grid(1)] *= 2
>>> with cuda.capture(stream) as graph:
...     double[1, 2, stream](x)
...     double[1, 2, stream](x)
>>> work = graph.instantiate()
>>> work.launch(stream)
>>> stream.synchronize()
>>> x.copy_to_host().tolist()
[4.0, 8.0]
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gridlane.core.device_errors import ILLEGAL_STATE, fail, handled
from gridlane.core.errors import DeviceError
from gridlane.core.process_bound import ProcessBound
from gridlane.cuda.host.native_streams import native_stream
from gridlane.launch import current
from gridlane.runtime import protocol

if TYPE_CHECKING:
    from gridlane.launch.fusion import Fusion


class Graph(ProcessBound):
    """Recorded work. It keeps the kernels, arrays and streams of the work alive; each launch reads
    the arrays' present contents, but the scalars of the recording.

    Attributes:
        fusion: of the launches, where they were fused.
    """

    _instead = "record the work where it is launched"

    def __init__(self, native: protocol.Graph | None = None) -> None:
        self._native = native
        self.fusion: Fusion | None = None

    def explain(self) -> str:
        """Which launches became one kernel, and why others did not, as text."""
        if self.fusion is None:
            return "the launches were recorded one by one: capture(stream, fused=True) fuses them"
        return self.fusion.explain()

    @property
    def native(self) -> protocol.Graph:
        """The device's graph; DeviceError ILLEGAL_STATE before the end of the capture."""
        if self._native is None:
            fail(ILLEGAL_STATE, "the capture has not ended", "use the graph behind the with block")
        return self._native

    def __len__(self) -> int:
        """The number of launches, copies, fills and host functions in it."""
        return self.native.size

    def instantiate(self) -> Executable:
        """Instantiate the work for launches; the result outlives the graph."""
        return Executable(self.native.instantiate())


class Executable(ProcessBound):
    """Recorded work, ready for launches."""

    _instead = "record the work where it is launched"

    def __init__(self, native: protocol.Executable) -> None:
        self.native = native

    def launch(self, stream: Any = 0) -> None:
        """Run the work on a stream, after its work so far. One stream at a time."""
        self.native.launch(native_stream(stream))

    replay = launch


@contextmanager
def capture(stream: Any, fused: bool = False) -> Generator[Graph]:
    """Record the work of a stream in a with block instead of running it; the result is a Graph,
    which can be used after the block.

    Another stream joins when it waits for an event that the captured one has recorded, on a GPU;
    the captured one must wait for it in turn before the end.

    Args:
        fused: record as few kernels as the launches can become; see ``compute.fused``.

    Raises:
        DeviceError: STREAM_CAPTURE_UNSUPPORTED, the work cannot be recorded: it waits, it copies
            memory that is not pinned, or on a GPU it launches a kernel that can raise;
            STREAM_CAPTURE_IMPLICIT, it is the default stream's, which no graph would have. Work
            recorded before the error is dropped.
    """
    native = native_stream(stream)
    graph = Graph()
    native.begin_capture()
    current.note_capture()
    try:
        if fused:
            from gridlane.launch import fusion  # most captures fuse nothing

            with fusion.fused() as graph.fusion:
                yield graph
        else:
            yield graph
    except BaseException:
        _drop(native)
        raise
    try:
        graph._native = native.end_capture()  # pyright: ignore[reportPrivateUsage]
    finally:
        current.note_capture()


def _drop(native: protocol.Stream) -> None:
    """End a failed capture, and ignore the device's errors: the cause is raised already."""
    try:
        native.end_capture()
    except DeviceError as error:
        handled(error)
        return
    finally:
        current.note_capture()
