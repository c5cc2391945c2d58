"""Launches in ``fused()``: when they are submitted, what becomes of them, and what explains it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda, xp
from gridlane.core.errors import KernelError
from gridlane.launch.fusion import Fusion, fused
from gridlane.runtime import observing

N = 100
EVERY = ["interp", *DEVICES]


@cuda.jit
def scale(x, y, by, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] * by


@cuda.jit
def plus(x, y, n):
    i = cuda.grid(1)
    if i >= n:
        return
    y[i] += x[i]


@cuda.jit
def neighbours(x, y, n):
    i = cuda.grid(1)
    if 0 < i < n - 1:
        y[i] = x[i - 1] + x[i + 1]


@cuda.jit
def checked(x, n):
    i = cuda.grid(1)
    if i < n:
        if x[i] < 0:
            raise ValueError("negative")
        x[i] += 1


class Names:
    """The names of the kernels that are launched."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def launched(self, launch: Any, /) -> None:
        self.names.append(launch.kernel.artifact.name)

    def copied(self, copy: Any, /) -> None: ...

    def compiled(self, *facts: Any) -> None: ...

    def forked(self) -> None: ...


@pytest.fixture
def names():
    seen = Names()
    observing.start(seen)
    yield seen.names
    observing.stop(seen)


def line(*numbers: float) -> Any:
    return cuda.to_device(np.array(numbers * (N // len(numbers)), np.float32))


@pytest.mark.parametrize("device", EVERY)
def test_a_chain_is_one_launch(device: str, names: list[str]) -> None:
    with gridlane.device(device):
        x, y = line(1, 2), line(10, 20)
        with fused() as fusion:
            scale[4, 32](x, y, 3.0, N)
            plus[4, 32](x, y, N)
            scale[4, 32](y, x, 0.5, N)
            assert not names and "3 of them delayed" in repr(fusion)
        assert names == ["fused_scale_plus"]
        assert x.copy_to_host()[:2].tolist() == [2, 4]
        assert y.copy_to_host()[:2].tolist() == [4, 8]
        assert (fusion.launches, fusion.kernels) == (3, 1)
        assert "scale, plus, scale: one kernel" in fusion.explain()


def test_a_launch_that_reads_neighbours_is_apart_with_its_lines() -> None:
    x, y = line(1, 2), line(0)
    with fused() as fusion:
        scale[4, 32](x, x, 3.0, N)
        neighbours[4, 32](x, y, N)
    assert y.copy_to_host()[:3].tolist() == [0, 6, 12]
    text = fusion.explain()
    assert "neighbours is apart from scale: a thread may touch what another one writes" in text
    assert "test_fused.py:" in text
    assert fusion.kernels == 2


def test_scalars_of_later_runs_are_those_of_the_later_runs() -> None:
    x, y = line(1), line(1)
    for by in (2.0, 3.0, 5.0):
        with fused() as fusion:
            scale[4, 32](x, y, by, N)
            plus[4, 32](y, x, N)
        assert fusion.kernels == 1
    assert x.copy_to_host()[0] == 1 * 3 * 4 * 6


def test_sizes_of_later_runs_are_those_of_the_later_runs() -> None:
    for n in (100, 37, 64):
        x, y = line(1), line(1)
        with fused() as fusion:
            scale[4, 32](x, y, 2.0, n)
            plus[4, 32](y, x, n)
        assert fusion.kernels == 1
        assert x.copy_to_host().tolist() == [3.0] * n + [1.0] * (N - n)


def test_views_that_overlap_stay_apart() -> None:
    x = cuda.to_device(np.arange(N, dtype=np.float32))
    y = line(0)
    with fused() as fusion:
        scale[2, 32](y, x[:50], 1.0, 50)
        plus[2, 32](x[25:75], y[:50], 50)
    assert fusion.kernels == 2
    assert y.copy_to_host()[24:27].tolist() == [0, 50, 51]
    with fused() as fusion:
        scale[2, 32](y, x[:50], 1.0, 50)
        plus[2, 32](x[50:], y[:50], 50)
    assert fusion.kernels == 1


def test_guards_that_differ_keep_their_threads() -> None:
    x, y = line(1), line(1)
    with fused() as fusion:
        scale[4, 32](x, y, 4.0, 50)
        plus[4, 32](x, y, N)
    assert fusion.kernels == 1
    assert y.copy_to_host().tolist() == [5.0] * 50 + [2.0] * 50


def test_other_shapes_of_grids_are_apart() -> None:
    x, y = line(1), line(1)
    with fused() as fusion:
        scale[4, 32](x, y, 4.0, N)
        plus[2, 64](x, y, N)
    assert "its grid is (2, 1, 1) of (64, 1, 1), and theirs (4, 1, 1) of (32, 1, 1)" in (
        fusion.explain()
    )
    assert y.copy_to_host().tolist() == [5.0] * N


@pytest.mark.parametrize("device", EVERY)
def test_what_reads_submits_first(device: str, names: list[str]) -> None:
    with gridlane.device(device):
        x, y = line(1), line(1)
        with fused():
            scale[4, 32](x, y, 4.0, N)
            assert y.copy_to_host()[0] == 4
            scale[4, 32](x, y, 5.0, N)
            cuda.synchronize()
            assert names == ["scale"] * 2
            scale[4, 32](x, y, 6.0, N)
            cuda.event().record()
            assert names == ["scale"] * 3
            scale[4, 32](y, x, 7.0, N)
            y.copy_to_device(np.zeros(N, np.float32))
            assert names == ["scale"] * 4
            assert x.copy_to_host()[0] == 42


def test_host_arrays_are_ready_on_return(names: list[str]) -> None:
    x, host = line(1), np.zeros(N, np.float32)
    with fused():
        scale[4, 32](x, host, 4.0, N)
        assert host[0] == 4
        scale[4, 32](host, x, 2.0, N)
        assert x.copy_to_host()[0] == 8


def test_mapped_arrays_are_ready_behind_a_wait() -> None:
    x, host = line(1), cuda.mapped_array(N, np.float32)
    with fused():
        scale[4, 32](x, host, 4.0, N)
        cuda.synchronize()
        assert host[0] == 4


def test_flush_submits(names: list[str]) -> None:
    x, y = line(1), line(1)
    with fused() as fusion:
        scale[4, 32](x, y, 4.0, N)
        fusion.flush()
        assert names == ["scale"]
        fusion.flush()
        assert names == ["scale"]


def test_blocks_in_blocks_keep_the_order(names: list[str]) -> None:
    x, y = line(1), line(1)
    with fused() as outer:
        scale[4, 32](x, y, 4.0, N)
        with fused() as inner:
            plus[4, 32](y, x, N)
            plus[4, 32](y, x, N)
        assert names == ["scale", "fused_plus"]
        scale[4, 32](x, y, 2.0, N)
    assert names[2:] == ["scale"]
    assert (outer.launches, inner.launches) == (2, 2)
    assert y.copy_to_host()[0] == 18
    scale[4, 32](x, y, 2.0, N)
    assert names[3:] == ["scale"]


def test_exceptions_leave_what_was_launched() -> None:
    x, y = line(1), line(1)
    with pytest.raises(RuntimeError, match="mine"), fused():
        scale[4, 32](x, y, 4.0, N)
        plus[4, 32](y, x, N)
        raise RuntimeError("mine")
    assert x.copy_to_host()[0] == 5


def test_kernels_that_raise_do_so_where_they_are_launched() -> None:
    x, y = line(-1), line(1)
    with fused() as fusion:
        scale[4, 32](y, x, -1.0, N)
        with pytest.raises((ValueError, KernelError), match="negative"):
            cuda.jit(debug=True, opt=False)(checked.py_func)[4, 32](x, N)
        scale[4, 32](y, x, 3.0, N)
    assert fusion.kernels == 3
    assert "it can raise" in fusion.explain()
    assert x.copy_to_host()[0] == 3


def test_other_threads_launch_at_once(names: list[str]) -> None:
    x, y = line(1), line(1)
    z = line(2)

    def work() -> None:
        scale[4, 32](z, z, 2.0, N)
        cuda.synchronize()

    with fused():
        scale[4, 32](x, y, 4.0, N)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert names == ["scale"] and z.copy_to_host()[0] == 4
        plus[4, 32](y, x, N)
    assert y.copy_to_host()[0] == 4


def test_threads_delay_for_themselves() -> None:
    arrays = [(line(1), line(1)) for _ in range(4)]
    fusions: list[Fusion] = []

    def work(x: Any, y: Any) -> None:
        for _ in range(20):
            with fused() as fusion:
                scale[4, 32](x, y, 2.0, N)
                scale[4, 32](y, x, 1.0, N)
            fusions.append(fusion)

    threads = [threading.Thread(target=work, args=pair) for pair in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {each.kernels for each in fusions} == {1} and len(fusions) == 80
    assert {pair[0].copy_to_host()[0] for pair in arrays} == {2.0**20}


@pytest.mark.parametrize("device", EVERY)
def test_streams_are_submitted_in_order(device: str, names: list[str]) -> None:
    with gridlane.device(device):
        stream = cuda.stream()
        x, y = line(1), line(1)
        with fused() as fusion:
            scale[4, 32, stream](x, y, 4.0, N)
            plus[4, 32, stream](y, x, N)
            plus[4, 32](y, x, N)
        assert fusion.kernels == 2
        stream.synchronize()
        assert x.copy_to_host()[0] == 9


@pytest.mark.parametrize("device", EVERY)
def test_captures_record_fused_kernels(device: str) -> None:
    with gridlane.device(device):
        stream = cuda.stream()
        x, y = line(1), line(1)
        with cuda.capture(stream, fused=True) as graph:
            scale[4, 32, stream](x, y, 2.0, N)
            plus[4, 32, stream](y, x, N)
        assert len(graph) == 1 and "scale, plus: one kernel" in graph.explain()
        work = graph.instantiate()
        assert x.copy_to_host()[0] == 1
        work.launch(stream)
        work.launch(stream)
        stream.synchronize()
        assert x.copy_to_host()[0] == 9


def test_a_device_in_the_block_launches_at_once() -> None:
    x, y = line(1), line(1)
    with fused() as fusion:
        scale[4, 32](x, y, 2.0, N)
        with gridlane.device("interp"):
            there = line(3)
            scale[4, 32](there, there, 2.0, N)
            assert there.copy_to_host()[0] == 6
        plus[4, 32](y, x, N)
    assert fusion.launches == 2
    assert x.copy_to_host()[0] == 3


def test_arrays_of_xp_are_fused() -> None:
    data = np.random.default_rng(3).random(1000, np.float32)
    with fused() as fusion:
        a = xp.asarray(data)
        b = xp.zeros(1000, np.float32)
        b[:] = a * 2
        a[:] = b + a
        b[:] = a - 1
        host = np.asarray(b)
    assert np.array_equal(host, (data * np.float32(2) + data) - np.float32(1))
    assert fusion.kernels < fusion.launches, fusion.explain()


def test_temporaries_live_until_they_are_used() -> None:
    x = line(1)
    with fused() as fusion:
        for _ in range(5):
            temporary = cuda.device_array(N, np.float32)
            scale[4, 32](x, temporary, 2.0, N)
            plus[4, 32](temporary, x, N)
            del temporary
    assert fusion.kernels == 1
    assert x.copy_to_host()[0] == 3**5


def test_the_queue_has_an_end() -> None:
    x = line(0)
    one = line(1)
    with fused() as fusion:
        for _ in range(600):
            plus[4, 32](one, x, N)
    assert fusion.kernels == 8 + 8 + 3
    assert "a kernel takes the place of 32 launches at the most" in fusion.explain()
    assert x.copy_to_host()[0] == 600


def test_fastmath_is_not_mixed_with_its_absence() -> None:
    x, y = line(1), line(1)
    quick = cuda.jit(fastmath=True)(scale.py_func)
    with fused() as fusion:
        scale[4, 32](x, y, 2.0, N)
        quick[4, 32](y, x, 2.0, N)
    assert "its options are others" in fusion.explain()


def test_nothing_was_submitted() -> None:
    with fused() as fusion:
        pass
    assert fusion.explain() == "no launches were submitted yet"


@cuda.jit
def turned(x, n):
    part = cuda.shared.array(0, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = x[i]
    cuda.syncthreads()
    x[i] = part[31 - t] + part.size


def test_blocks_share_memory_one_launch_after_the_other() -> None:
    def run(x: Any) -> None:
        for size in (128, 256, 256):
            turned[4, 32, 0, size](x, 128)

    start = np.arange(128, dtype=np.float32)
    alone, together = cuda.to_device(start), cuda.to_device(start)
    run(alone)
    with fused() as fusion:
        run(together)
    assert alone.copy_to_host().tobytes() == together.copy_to_host().tobytes()
    assert "it has shared memory of another size" in fusion.explain()
    assert "turned, turned: one kernel, whose blocks wait in front of turned" in fusion.explain()
