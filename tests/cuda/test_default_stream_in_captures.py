"""Work of the default stream on a thread that captures another one: refused on every device, with
CUDA's number, as no graph would have it."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda, tiles, xp
from gridlane.core.errors import DeviceError
from gridlane.xp.computing import compute

EVERY = ["interp", *[each for each in DEVICES if each != "cuda"]]
N = 64
tl = tiles.language


@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@tiles.jit
def tile(x, SIZE: tl.constexpr):
    at = x + tl.arange(0, SIZE)
    tl.store(at, tl.load(at) + 1)


def launch(x, y):
    add_one[1, N](x)


def launch_of_tiles(x, y):
    tile[(1,)](x, SIZE=N)


def group(x, y):
    np.asarray(xp.asarray(x) + 1)


def graph(x, y):
    stream = cuda.stream()
    with cuda.capture(stream) as inner:
        add_one[1, N, stream](x)
    inner.instantiate().launch()


WAYS = {
    "launch": (launch, 906),
    "launch of tiles": (launch_of_tiles, 906),
    "copy": (lambda x, y: x.copy_to_device(y), 906),
    "copy to the host": (lambda x, y: x.copy_to_host(), 906),
    "copy of the host": (lambda x, y: x.copy_to_device(np.ones(N, np.float32)), 906),
    "fill": (lambda x, y: x.__setitem__(slice(None), 5), 906),
    "new array": (lambda x, y: cuda.to_device(np.ones(N)), 900),
    "event": (lambda x, y: cuda.event().record(), 906),
    "graph": (graph, 906),
}


@pytest.fixture(params=EVERY)
def device(request):
    with gridlane.device(request.param):
        yield request.param


def arrays():
    return cuda.to_device(np.ones(N, np.float32)), cuda.to_device(np.full(N, 3, np.float32))


@pytest.mark.parametrize("warm", [False, True], ids=["first", "prepared"])
@pytest.mark.parametrize("way", WAYS)
def test_it_is_refused(device, way, warm):
    (run, number), (x, y), stream = WAYS[way], arrays(), cuda.stream()
    for _ in range(4 if warm else 0):
        run(x, y)
    cuda.synchronize()
    before = x.copy_to_host()
    for fused in (False, True):
        with pytest.raises(DeviceError) as caught:
            with cuda.capture(stream, fused=fused) as dropped:
                run(x, y)
                pytest.fail("it ran, or was delayed")
        assert caught.value.number == number, caught.value
        assert (x.copy_to_host() == before).all()
        with pytest.raises(DeviceError, match="has not ended"):
            dropped.instantiate()
    for _ in range(2):  # the thread is as before
        run(x, y)
    stream.synchronize()


def test_the_capture_goes_on(device):
    """What was refused leaves nothing in the graph; what comes after it does."""
    (x, y), stream = arrays(), cuda.stream()
    add_one[1, N](x)
    with cuda.capture(stream) as work:
        add_one[1, N, stream](x)
        with pytest.raises(DeviceError, match=r"\(906\)[\s\S]*kernel\[grid, block, stream\]"):
            add_one[1, N](x)
        x.copy_to_device(y, stream)
        add_one[1, N, stream](x)
    assert len(work) == 3 and (x.copy_to_host() == 2).all()
    work.instantiate().launch(stream)
    stream.synchronize()
    assert (x.copy_to_host() == 4).all()


def test_groups_of_xp(device):
    x, stream = xp.ones(N), cuda.stream()
    host = np.asarray(x + 1)
    with cuda.capture(stream):
        with pytest.raises(DeviceError, match=r"\(90[06]\)"):
            np.asarray(x + 1)
        with pytest.raises(DeviceError, match=r"\(906\)"):
            compute((x + 2).node)
    assert (np.asarray(x + 1) == host).all()


def test_other_threads_and_devices_are_not_concerned(device):
    (x, _), stream, errors = arrays(), cuda.stream(), []

    def work():
        try:
            with gridlane.device(device):
                for _ in range(3):
                    add_one[1, N](x)
                assert (x.copy_to_host() == 4).all()
        except BaseException as error:
            errors.append(error)

    with cuda.capture(stream) as graph:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        with gridlane.device("interp" if device == "cpu" else "cpu"):
            y = np.ones(N, np.float32)
            for _ in range(3):
                add_one[1, N](y)
            assert (y == 4).all()
    assert not errors and not len(graph)


def test_a_capture_that_another_thread_ends(device):
    """Also one whose stream is gone, on which nothing can end it."""
    (x, _), stream = arrays(), cuda.stream()
    stream.begin_capture()
    thread = threading.Thread(target=stream.end_capture)
    thread.start()
    thread.join()
    add_one[1, N](x)
    stream.begin_capture()
    with pytest.raises(DeviceError, match=r"\(906\)"):
        add_one[1, N](x)
    del stream
    add_one[1, N](x)
    assert (x.copy_to_host() == 3).all()
