"""A profile as a trace for Perfetto or chrome://tracing: a JSON file of Chrome's trace events.

Format: "Trace Event Format", Google, 2016. Times are in microseconds. Process 1 is the host, with a
track per thread; each device is a process, with a track per stream.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gridlane.profiler.recorder import Recorder, Shown

HOST = 1


def write(recorder: Recorder, path: Path) -> None:
    """Write the timeline of a profile that is stopped."""
    timeline = {"traceEvents": list(events(recorder)), "displayTimeUnit": "ns"}
    path.write_text(json.dumps(timeline))


def events(recorder: Recorder) -> Iterator[dict[str, Any]]:
    """The trace events: the names of tracks, then the work in the order of its beginning."""
    shown = sorted(recorder.shown, key=lambda each: (each.begin, -each.end))
    devices = {name: HOST + 1 + n for n, name in enumerate(sorted({s.device for s in shown}))}
    threads = {each: n + 1 for n, each in enumerate(dict.fromkeys(s.thread for s in shown))}
    yield from _names(shown, devices, threads)
    for each in shown:
        on_host = f"launch {each.name}" if each.kind == "launch" and each.ran else each.name
        if each.kind == "compile":
            on_host = f"compile {each.name}"
        span = each.begin, each.end
        yield _complete(on_host, each, HOST, threads[each.thread], span)
    for each in sorted(shown, key=lambda each: each.ran or (0.0, 0.0)):
        if each.ran is not None:
            yield _complete(each.name, each, devices[each.device], each.stream, each.ran)


def _names(
    shown: list[Shown], devices: dict[str, int], threads: dict[int, int]
) -> Iterator[dict[str, Any]]:
    yield _name("process_name", HOST, 0, "host")
    called = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, number in threads.items():
        yield _name("thread_name", HOST, number, called.get(ident, f"thread {ident}"))
    for device, number in devices.items():
        yield _name("process_name", number, 0, f"device {device}")
    streams = {(devices[each.device], each.stream) for each in shown if each.ran is not None}
    for number, stream in sorted(streams):
        title = "default stream" if stream in (0, 1) else f"stream {stream:#x}"
        yield _name("thread_name", number, stream, title)


def _name(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def _complete(
    name: str, each: Shown, process: int, thread: int, span: tuple[float, float]
) -> dict[str, Any]:
    begin, end = span
    return {
        "ph": "X",
        "name": name,
        "cat": each.kind,
        "pid": process,
        "tid": thread,
        "ts": begin / 1e3,
        "dur": max(0.0, end - begin) / 1e3,
        "args": {key: str(value) for key, value in each.details.items()},
    }
