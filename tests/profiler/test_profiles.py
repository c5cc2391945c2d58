"""Profiles on every device: what is counted, by numbers that are known."""

from __future__ import annotations

import io
import json
import math
import os
import re
import threading
from html.parser import HTMLParser

import numpy as np
import pytest
from rich.console import Console
from tests.devices import DEVICES

from gridlane import cuda, tiles
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.profiler import figures as figures_module
from gridlane.profiler.peaks import Peaks
from gridlane.profiler.table import show
from gridlane.runtime import observing

PEAKS = Peaks(2e9, 4e9, 0.0)


@pytest.fixture(params=["interp", *DEVICES])
def device(request, monkeypatch):
    found = get_device(request.param)
    current.choose(found)
    monkeypatch.setattr(figures_module, "peaks", lambda device: PEAKS)
    return found


@pytest.fixture
def host(monkeypatch):
    """The CPU: for what does not differ between devices."""
    current.choose(get_device("cpu"))
    monkeypatch.setattr(figures_module, "peaks", lambda device: PEAKS)


def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


def power(x, n):
    i = cuda.grid(1)
    if i < x.size:
        y = x[i]
        for _ in range(n):
            y = y * np.float32(0.5) + np.float32(1)
        x[i] = y


N = 1024


def arrays(count):
    return [cuda.to_device(np.ones(N, np.float32)) for _ in range(count)]


def test_numbers_of_a_kernel_whose_numbers_are_known(device):
    kernel = cuda.jit(add)
    a, b, c = arrays(3)
    with cuda.profiling(show=False) as profile:
        for _ in range(3):
            kernel[N // 128, 128](a, b, c)
        result = c.copy_to_host()
    assert (result == 2).all()
    (row,) = profile.kernels
    assert (row.name, row.device, row.clock) == ("add", device.name, device.timed_by)
    assert (row.calls, row.timed, row.block) == (3, 3, (128, 1, 1))
    assert row.array_bytes == 3 * 4 * N  # two are read and one is written
    assert (row.flops.narrow, row.flops.wide) == (N, 0)
    assert row.device_ns > 0 and row.host_ns > 0 and row.compile_ns > 0
    assert row.mean_ns == row.device_ns / 3
    assert row.bytes_per_second == pytest.approx(12 * N / row.mean_ns * 1e9)
    share, limit = row.roofline  # 12 KB at 2 GB/s take longer than 1024 operations at 4 G/s
    assert limit == "memory"
    assert share == pytest.approx(12 * N / PEAKS.bytes_per_second * 1e9 / row.mean_ns)
    (copy,) = profile.figures.copies
    assert (copy.kind, copy.calls, copy.size, copy.timed) == ("to host", 1, 4 * N, 1)
    assert copy.ns > 0


@tiles.jit
def add_tiles(a, b, c, SIZE: tiles.language.constexpr):
    i = tiles.language.program_id(0) * SIZE + tiles.language.arange(0, SIZE)
    total = tiles.language.load(a + i) + tiles.language.load(b + i)
    tiles.language.store(c + i, total)


@tiles.jit
def product_of_tiles(a, b, c, SIZE: tiles.language.constexpr):
    i = tiles.language.arange(0, SIZE)
    at = i[:, None] * SIZE + i[None, :]
    left, right = tiles.language.load(a + at), tiles.language.load(b + at)
    tiles.language.store(c + at, tiles.language.dot(left, right))


def test_tile_programs(device):
    a, b, c = arrays(3)
    with cuda.profiling(show=False) as profile:
        for _ in range(3):
            add_tiles[(N // 64,)](a, b, c, SIZE=64)
        product_of_tiles[(1,)](a, b, c, SIZE=16)
    by_name = {row.name: row for row in profile.kernels}
    add, product = by_name["add_tiles"], by_name["product_of_tiles"]
    assert (add.calls, add.array_bytes, add.flops.narrow) == (3, 3 * 4 * N, N)
    assert (product.calls, product.flops.narrow) == (1, 2 * 16**3)


def test_an_array_that_is_read_and_written_counts_twice(device):
    kernel, (x,) = cuda.jit(power), arrays(1)
    with cuda.profiling(show=False) as profile:
        kernel[N // 64, 64](x, 10)
        kernel[N // 64, 64](x, 30)
    (row,) = profile.kernels
    assert row.array_bytes == 2 * 4 * N
    assert row.flops.narrow == 2 * 20 * N  # 20 iterations on average, of two operations
    assert row.roofline[1] == "compute"


def test_host_arrays_and_streams(device):
    kernel, stream = cuda.jit(add), cuda.stream()
    a, b, c = arrays(3)
    with cuda.profiling(show=False) as profile:
        kernel[N // 128, 128, stream](a, b, c)
        stream.synchronize()
        kernel[N // 128, 128](np.ones(N, np.float32), b, c)
    assert sum(row.calls for row in profile.kernels) == 2
    assert all(row.timed == row.calls for row in profile.kernels)


def test_nothing_is_watched_after_a_profile(device):
    kernel = cuda.jit(add)
    a, b, c = arrays(3)
    launch = kernel[N // 128, 128]
    launch(a, b, c)  # the way of the next launches is known
    with cuda.profiling(show=False) as profile:
        launch(a, b, c)
        assert observing.observers
    for _ in range(3):
        launch(a, b, c)
    cuda.synchronize()
    assert [row.calls for row in profile.kernels] == [1]
    assert not observing.observers
    assert all(seam.owner.__dict__[seam.name] is seam.own for seam in observing._seams)


def test_graphs_are_counted_when_they_are_launched(device):
    kernel, stream = cuda.jit(add), cuda.stream()
    a, b, c = arrays(3)
    kernel[N // 128, 128](a, b, c)
    with cuda.profiling(show=False) as profile:
        with cuda.capture(stream) as graph:
            kernel[N // 128, 128, stream](a, b, c)
            kernel[N // 128, 128, stream](a, b, c)
        assert not profile._recorder._pending
        made = graph.instantiate()
        made.launch(stream)
        made.launch(stream)
        stream.synchronize()
    assert sum(row.calls for row in profile.kernels) == (2 if device.route == "native" else 4)


def test_an_exception_leaves_the_block(device, capfd):
    kernel = cuda.jit(add)
    a, b, c = arrays(3)
    with pytest.raises(ZeroDivisionError), cuda.profiling():
        kernel[N // 128, 128](a, b, c)
        raise ZeroDivisionError
    assert not observing.observers
    assert "add[128]" in capfd.readouterr().err


def raises(x):
    x[cuda.grid(1)] = 1 // x[0]


def test_a_kernel_that_raises_is_counted(device):
    kernel = cuda.jit(debug=True, opt=False)(raises)
    x = cuda.to_device(np.zeros(32, np.int32))
    with pytest.raises(ZeroDivisionError), cuda.profiling(show=False) as profile:
        kernel[1, 32](x)
        cuda.synchronize()
    assert [row.calls for row in profile.kernels] == [1]


# --- the trace, the page, the table ---


def profiled(device):
    kernel, other = cuda.jit(add), cuda.jit(power)
    with cuda.profiling(show=False) as profile:
        a, b, c = arrays(3)
        for _ in range(4):
            kernel[N // 128, 128](a, b, c)
            other[N // 128, 128](c, 3)
        c.copy_to_host()
    return profile


def test_the_trace_is_one_that_perfetto_reads(device, tmp_path):
    profiled(device).write_trace(tmp_path / "out.json")
    told = json.loads((tmp_path / "out.json").read_text())
    events = told["traceEvents"]
    told = [event for event in events if event["ph"] == "M"]
    processes = {e["pid"]: e["args"]["name"] for e in told if e["name"] == "process_name"}
    names = {(e["pid"], e["tid"]) for e in told if e["name"] == "thread_name"}
    spans = [event for event in events if event["ph"] == "X"]
    assert processes[1] == "host" and len(spans) + len(told) == len(events)
    tracks: dict[tuple[int, int], list[dict]] = {}
    for event in spans:
        assert event["dur"] >= 0 and (event["pid"], event["tid"]) in names
        tracks.setdefault((event["pid"], event["tid"]), []).append(event)
    for track in tracks.values():
        check_nesting(track)
    on_host = [e["name"] for e in tracks[1, 1]]
    assert on_host.count("compile add") == 1 and on_host.count("copy to device") == 3
    if device.route == "inline":
        assert on_host.count("add") == 4 and len(tracks) == 1
        return
    assert on_host.count("launch add") == 4
    (number,) = {pid for pid, _ in tracks} - {1}
    assert processes[number] == f"device {device.name}"
    kernels = [e for e in tracks[number, 0] if e["cat"] == "launch"]
    assert [e["name"] for e in kernels] == ["add", "power"] * 4
    # The device begins nothing before the host has asked for it, as far as the clocks agree.
    asked = [e["ts"] for e in tracks[1, 1] if e["cat"] == "launch"]
    assert all(e["ts"] > ts - 5000 for e, ts in zip(kernels, asked, strict=True))


def check_nesting(track):
    """Events are in the order of their beginning, and one that begins in another ends in it."""
    open_until: list[float] = []
    last = -math.inf
    for event in track:
        begin, end = event["ts"], event["ts"] + event["dur"]
        assert begin >= last
        last = begin
        while open_until and open_until[-1] <= begin + 1e-3:
            open_until.pop()
        assert not open_until or end <= open_until[-1] + 1e-3
        open_until.append(end)


class Page(HTMLParser):
    """Checks that tags match, and collects them, their attributes and the text."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.links, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "xlink:href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_is_whole_and_asks_nobody(device, tmp_path):
    profile = profiled(device)
    profile.write_html(tmp_path / "out.html")
    text = (tmp_path / "out.html").read_text()
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == [] and page.links == []
    assert "http" not in text and "url(" not in text and "script" not in page.tags
    assert page.tags.count("svg") == 2 and page.tags.count("table") == 2
    assert page.tags.count("circle") == 2  # both kernels compute, and their arrays are known
    assert page.text.count("power") >= 3  # in the table, at its dot and in the legend
    colours = {fill for _, fill in re.findall(r'<(circle|rect) [^>]*fill="(#\w+)"', text)}
    assert colours <= set(re.findall(r"background:(#\w+)", text)), "not in the legend"
    assert "power" in page.text and "nan" not in text and "inf" not in text
    assert profile._repr_html_() == text


def test_the_table(device, capfd):
    text = io.StringIO()
    show(profiled(device).figures, Console(file=text, width=160))
    lines = text.getvalue().splitlines()
    (row,) = [line for line in lines if "add[128]" in line]
    assert f"add[128] {device.name} " in row and " 4 " in row and "12.3 KB" in row
    (note,) = [line for line in lines if "clock" in line]
    assert f"{device.name}: times by the {device.timed_by}'s clock; at most 2 GB/s" in note


# --- what does not differ between devices ---


def test_profiles_within_profiles(host):
    kernel = cuda.jit(add)
    a, b, c = arrays(3)
    with cuda.profiling(show=False) as outer:
        kernel[8, 128](a, b, c)
        with cuda.profiling(show=False) as inner:
            kernel[8, 128](a, b, c)
        kernel[8, 128](a, b, c)
    assert [row.calls for row in outer.kernels] == [3]
    assert [row.calls for row in inner.kernels] == [1]


def test_threads_at_once(device):
    kernel = cuda.jit(add)
    a, b, c = arrays(3)
    kernel[8, 128](a, b, c)
    each = 40 if device.name == "interp" else 300  # more than are settled at once

    def work():
        current.choose(device)
        stream = cuda.stream()
        for _ in range(each):
            kernel[1, 32, stream](a, b, c)
        stream.synchronize()

    threads = [threading.Thread(target=work) for _ in range(2)]
    with cuda.profiling(show=False) as profile:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    (row,) = profile.kernels
    assert row.calls == row.timed == 2 * each
    assert sum(profile._recorder.kernels.popitem()[1].launches.values()) == 2 * each


def test_start_and_stop(host, capfd):
    kernel = cuda.jit(add)
    a, b, c = arrays(3)
    cuda.profile_stop()  # nothing has begun
    cuda.profile_start()
    cuda.profile_start()
    kernel[8, 128](a, b, c)
    cuda.profile_stop()
    kernel[8, 128](a, b, c)
    assert capfd.readouterr().err.count("add[128]") == 1
    assert not observing.observers


def test_figures_need_the_end(host):
    with (
        cuda.profiling(show=False) as profile,
        pytest.raises(RuntimeError, match="leave it first"),
    ):
        _ = profile.figures
    assert profile.kernels == ()


def test_the_child_of_a_fork_has_no_profile(host, capfd):
    kernel = cuda.jit(add)
    a, b, c = arrays(3)
    with cuda.profiling() as profile:
        kernel[8, 128](a, b, c)
        child = os.fork()
        if not child:
            try:
                kernel[8, 128](a, b, c)
                with cuda.profiling(show=False) as own:
                    kernel[8, 128](a, b, c)
                good = not profile._recorder._pending and [r.calls for r in own.kernels] == [1]
            finally:
                os._exit(0 if good and not observing.observers else 1)
        assert os.waitpid(child, 0)[1] == 0
        kernel[8, 128](a, b, c)
    assert [row.calls for row in profile.kernels] == [2]
    assert capfd.readouterr().err.count("gridlane profile") == 1


def test_broadcast_and_repeated_arrays_count_their_bytes_once(host):
    kernel = cuda.jit("(float32[:], float32[:], float32[:])")(add)
    (a,) = arrays(1)
    one = cuda.to_device(np.ones(1, np.float32))
    wide = cuda.as_cuda_array(Strided(one, N))
    with cuda.profiling(show=False) as profile:
        kernel[8, 128](a, a, a)
        kernel[8, 128](wide, wide, a)
    (row,) = profile.kernels
    assert row.array_bytes == ((4 * N + 4 * N) + (4 + 4 * N)) / 2


class Strided:
    """An array of one element that is seen as many."""

    def __init__(self, one, length):
        self.one = one
        own = one.__cuda_array_interface__
        self.__cuda_array_interface__ = own | {"shape": (length,), "strides": (0,)}


def test_a_loop_that_memory_ends_is_not_counted(host):
    def until(x):
        i = cuda.grid(1)
        while x[i] > 1:
            x[i] = x[i] / 2

    (x,) = arrays(1)
    with cuda.profiling(show=False) as profile:
        cuda.jit(until)[8, 128](x)
    (row,) = profile.kernels
    assert row.flops is None and row.flops_per_second is None and row.array_bytes == 8 * N


def test_a_broken_file_name_raises_after_the_block(host, tmp_path):
    with pytest.raises(FileNotFoundError), cuda.profiling(show=False, html=tmp_path / "no" / "x"):
        pass
    assert not observing.observers
