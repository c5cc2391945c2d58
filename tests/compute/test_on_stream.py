# ruff: noqa: F821  # extents are names that annotations define
"""Loop nests on a stream: in its order, recorded by captures, and refused without one there."""

from __future__ import annotations

import gc
import math
import threading

import numpy as np
import pytest
from scipy.signal import correlate
from tests.devices import DEVICES

import gridlane
from gridlane import cuda, xp
from gridlane.compute import Tensor, attending, compute, f32, fused, grid, i32, i64, scanning
from gridlane.core.errors import ArgumentError, DeviceError

RNG = np.random.default_rng(39)
EVERY = ["interp", *[each for each in DEVICES if each != "cuda"]]
N = 300


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Libraries compute few elements on few cores too."""
    monkeypatch.setattr(scanning, "SMALLEST", 2)
    monkeypatch.setattr(scanning, "SMALLEST_ON_GPU", 2)
    monkeypatch.setattr(scanning, "CORES", 1)
    monkeypatch.setattr(attending, "SMALLEST_SOFTMAX", 2)


@compute
def twice(x: Tensor[f32, "N"], out: Tensor[f32, "N"]):
    for i in grid(N):
        out[i] = 2 * x[i]


@compute
def stepwise(x: Tensor[i32, "N"], out: Tensor[i32, "N"], steps: int):
    for i in grid(N):
        out[i] = x[i]
    for t in range(steps):
        for i in range(1, N - 1):
            out[i] += t * x[i - 1]


@compute
def rows(x: Tensor[i32, "M", "N"], out: Tensor[i32, "M"]):
    for i in range(M):
        s = 0
        for j in range(N):
            s += x[i, j]
        out[i] = s


@compute
def total(x: Tensor[i64, "N"], out: Tensor[i64, 1]):
    s = 0
    for i in range(N):
        s += x[i]
    out[0] = s


@compute
def scan(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
    s = 0
    for i in range(N):
        s += x[i]
        out[i] = s


@compute
def counts(x: Tensor[i32, "M", "N"], bins: Tensor[i32, 16]):
    for b in range(16):
        bins[b] = 0
    for i in range(M):
        for j in range(N):
            bins[x[i, j]] += 1


@compute
def product(a: Tensor[f32, "M", "K"], out: Tensor[f32, "M", "M"]):
    for i, j in grid(M, M):
        s = 0.0
        for k in range(K):
            s += a[i, k] * a[j, k]
        out[i, j] = s


@compute
def raised(a: Tensor[f32, "M", "K"], out: Tensor[f32, "M", "M"]):
    for i, j in grid(M, M):
        s = f32(0)
        for k in range(K):
            s += a[i, k] * a[j, k]
        out[i, j] = s + 1


@compute
def ranks(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
    for i in range(N):
        r = 0
        for j in range(N):
            if x[j] < x[i] or (j < i and x[i] == x[j]):
                r += 1
        out[r] = x[i]


@compute
def blurred(x: Tensor[f32, "N", "C", "H", "W"], out: Tensor[f32, "N", "C", "OH", "OW"],
            w: Tensor[f32, "C", "C", 3, 3]):  # fmt: skip
    for n, f, i, j in grid(N, C, OH, OW):
        s = 0.0
        for c, r, q in grid(C, 3, 3):
            s += x[n, c, i + r, j + q] * w[f, c, r, q]
        out[n, f, i, j] = s


@compute(fastmath=True)
def soft(x: Tensor[f32, "M", "N"], out: Tensor[f32, "M", "N"]):
    for i in range(M):
        most = x[i, 0]
        for j in range(N):
            most = max(most, x[i, j])
        s = 0.0
        for j in range(N):
            e = math.exp(x[i, j] - most)
            s += e
            out[i, j] = e
        for j in range(N):
            out[i, j] /= s


def whole(*shape, dtype=np.int32, low=0, high=16):
    return RNG.integers(low, high, shape).astype(dtype)


def softmax(x):
    wide = np.exp(x - x.max(1, keepdims=True))
    return (wide / wide.sum(1, keepdims=True)).astype(np.float32)


def correlated(x):
    return np.array([[correlate(a, w, "valid")[0] for w in WEIGHTS] for a in x])


def stepped(x):
    out = x.copy()
    out[1:-1] += 3 * x[:-2]  # 0 + 1 + 2
    return out


FLOATS = np.float32
WEIGHTS = whole(4, 4, 3, 3, dtype=FLOATS)
CASES = {
    "one": (twice, lambda: whole(N, dtype=FLOATS), lambda x: 2 * x, ()),
    "several": (stepwise, lambda: whole(N), stepped, (3,)),
    "sums": (rows, lambda: whole(3, 5000), lambda x: x.sum(1), ()),
    "reduction": (total, lambda: whole(5000, dtype=np.int64), lambda x: x.sum(keepdims=True), ()),
    "scan": (scan, lambda: whole(5000), np.cumsum, ()),
    "counts": (counts, lambda: whole(50, 60), lambda x: np.bincount(x.ravel(), minlength=16), ()),
    "product": (product, lambda: whole(64, 48, dtype=FLOATS), lambda x: x @ x.T, ()),
    "rest": (raised, lambda: whole(64, 48, dtype=FLOATS), lambda x: x @ x.T + 1, ()),
    "sort": (ranks, lambda: whole(700), np.sort, ()),
    "convolution": (
        blurred, lambda: whole(2, 4, 20, 20, dtype=FLOATS), correlated, (WEIGHTS,),
    ),
    "softmax": (soft, lambda: whole(8, 600, dtype=FLOATS), softmax, ()),
}  # fmt: skip


def check(result, wanted):
    """Whole numbers are exact, and softmax is within the bound of an exponential's error."""
    rtol = 0 if (wanted == np.round(wanted)).all() else 1e-5
    np.testing.assert_allclose(result.copy_to_host(), wanted, rtol=rtol, atol=1e-30)


def on(device):
    return gridlane.device(device)


def smashed():
    """Fill what was freed."""
    gc.collect()
    for size in (1 << 8, 1 << 12, 1 << 16, 1 << 18):
        [cuda.to_device(np.full(size, 255, np.uint8)) for _ in range(4)]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("device", EVERY)
def test_captured(device, case):
    """A graph computes with the arrays' contents at each launch, in memory of its own."""
    nest, make, expected, others = CASES[case]
    with on(device):
        others = [cuda.to_device(o) if isinstance(o, np.ndarray) else o for o in others]
        first = make()
        x, stream = cuda.to_device(first), cuda.stream()
        shape = expected(first).shape
        out = cuda.to_device(np.full(shape, 77, first.dtype))
        with cuda.capture(stream) as graph:
            nest.on(stream)(x, out, *others)
        assert len(graph) and (out.copy_to_host() == 77).all()
        work = graph.instantiate()
        del graph
        smashed()
        for values in (first, make(), make()):
            x.copy_to_device(values)
            work.launch(stream)
            stream.synchronize()
            check(out, expected(values))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("device", EVERY)
def test_in_the_streams_order(device, case):
    """The first calls, and repeated ones, with a kernel of the stream in front and one behind."""
    nest, make, expected, others = CASES[case]
    with on(device):
        others = [cuda.to_device(o) if isinstance(o, np.ndarray) else o for o in others]
        stream, like = cuda.stream(), make()
        source, x = cuda.to_device(like), cuda.to_device(np.zeros_like(like))
        out = cuda.to_device(np.zeros(expected(like).shape, like.dtype))
        seen = cuda.to_device(np.zeros(expected(like).shape, like.dtype))
        for _ in range(6):
            values = make()
            source.copy_to_device(values)
            x.copy_to_device(source, stream)
            nest.on(stream)(x, out, *others)
            seen.copy_to_device(out, stream)
            stream.synchronize()
            check(seen, expected(values))


@pytest.mark.parametrize("device", EVERY)
def test_what_is_in_front(device):
    """A call waits for the work in front of it, and returns before that is done."""
    with on(device):
        stream, go = cuda.stream(), threading.Event()
        x, out = cuda.to_device(np.ones(N, FLOATS)), cuda.to_device(np.zeros(N, FLOATS))
        cuda.synchronize()
        done = threading.Event()
        stream.submit(go.wait)
        twice.on(stream)(x=x, out=out)
        stream.submit(done.set)
        assert not done.is_set()
        go.set()
        stream.synchronize()
        assert done.is_set() and (out.copy_to_host() == 2).all()


@pytest.mark.parametrize("device", EVERY)
def test_arrays_of_the_host(device):
    """They are changed on return, after the stream's work; a capture refuses them."""
    with on(device):
        stream = cuda.stream()
        source, x = cuda.to_device(np.full(N, 5, FLOATS)), cuda.to_device(np.ones(N, FLOATS))
        x.copy_to_device(source, stream)
        for given in (x, np.full(N, 5, FLOATS)):
            out = np.zeros(N, FLOATS)
            twice.on(stream)(given, out)
            assert (out == 10).all()
        with pytest.raises(DeviceError, match=r"(?s)\(900\).*twice with an array of the host"):
            with cuda.capture(stream):
                twice.on(stream)(x, out)
        twice.on(stream)(x, out)  # the stream is as before


@pytest.mark.parametrize("device", EVERY)
def test_calls_without_a_stream_in_a_capture(device):
    """They are refused, by what to do; the default stream is none either."""
    with on(device):
        stream = cuda.stream()
        x, out = cuda.to_device(np.ones(N, FLOATS)), cuda.to_device(np.zeros(N, FLOATS))
        ways = [
            twice, twice.plain, twice.on(0), twice.on(None), twice.on(cuda.default_stream()),
            lambda *args: twice.tune(*args, seconds=1),
        ]  # fmt: skip
        for fuse in (False, True):
            for way in ways:
                with pytest.raises(DeviceError, match=r"(?s)\(906\).*twice\.on\(stream\)"):
                    with cuda.capture(stream, fused=fuse):
                        way(x, out)
        stream.begin_capture()
        with pytest.raises(DeviceError, match=r"\(906\)"):
            twice(x, out)
        assert len(stream.end_capture()) == 0
        assert not out.copy_to_host().any()
        twice(x, out)
        assert (out.copy_to_host() == 2).all()


def test_captures_of_another_thread():
    """They refuse nothing of this one, and one that ended elsewhere refuses nothing here."""
    stream, x, out = cuda.stream(), cuda.to_device(np.ones(N, FLOATS)), np.zeros(N, FLOATS)
    thread = threading.Thread(target=stream.begin_capture)
    thread.start()
    thread.join()
    twice(x.copy_to_host(), out)
    assert (out == 2).all()
    stream.end_capture()
    stream.begin_capture()
    thread = threading.Thread(target=stream.end_capture)
    thread.start()
    thread.join()
    out[:] = 0
    twice(x.copy_to_host(), out)
    assert (out == 2).all()


@compute
def carried(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
    first = x[0]
    for i in grid(N):
        out[i] = x[i] - first


@pytest.mark.parametrize("device", EVERY)
def test_variables_between_kernels_are_refused(device):
    """Their memory is filled between launches: outside of captures it is, in the stream's order."""
    with on(device):
        assert carried.emitted.cells
        stream, values = cuda.stream(), whole(5000)
        x, out = cuda.to_device(values), cuda.to_device(np.zeros(5000, np.int32))
        with pytest.raises(DeviceError, match=r"(?s)\(900\).*carried copies"):
            with cuda.capture(stream):
                carried.on(stream)(x, out)
        assert not out.copy_to_host().any()
        carried.on(stream)(x, out)
        stream.synchronize()
        assert out.copy_to_host().tolist() == (values - values[0]).tolist()


@pytest.mark.parametrize("device", EVERY)
def test_fused(device):
    """Launches of nests become one kernel in a fused capture, and in a fused block."""
    with on(device):
        stream, x = cuda.stream(), cuda.to_device(np.ones(N, FLOATS))
        y, z = (cuda.to_device(np.zeros(N, FLOATS)) for _ in range(2))
        with cuda.capture(stream, fused=True) as graph:
            twice.on(stream)(x, y)
            twice.on(stream)(y, z)
        assert len(graph) == 1 and "one kernel" in graph.explain()
        graph.instantiate().launch(stream)
        stream.synchronize()
        assert (z.copy_to_host() == 4).all()
        with fused() as fusion:
            twice(z, x)
            twice.on(stream)(x, y)
            twice.on(stream)(y, z)
        stream.synchronize()
        assert (z.copy_to_host() == 32).all() and fusion.kernels == 2


def test_devices_of_nests_and_streams():
    there = compute(device="interp")(twice.function)
    x, out = np.ones(N, FLOATS), np.zeros(N, FLOATS)
    with pytest.raises(DeviceError, match=r"stream"):
        there.on(cuda.stream())(x, out)
    with on("interp"):
        stream = cuda.stream()
        x, mine = cuda.to_device(x), cuda.to_device(out)
    with cuda.capture(stream) as graph:
        there.on(stream)(x, mine)
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert (mine.copy_to_host() == 2).all()
    assert repr(there.on(stream)).startswith("<twice on ")


def test_bad_input():
    stream, x = cuda.stream(), cuda.to_device(np.ones(N, FLOATS))
    with pytest.raises(TypeError, match="a stream is one of"):
        twice.on("first")(x, x)
    with pytest.raises(DeviceError, match="stream"):
        twice.on(12345)(x, x)
    with pytest.raises(ArgumentError, match="2 arguments"):
        twice.on(stream)(x)
    with pytest.raises(ArgumentError, match="N is"):
        twice.on(stream)(x, cuda.to_device(np.ones(N + 1, FLOATS)))


def test_arrays_of_xp():
    """On a device of the host they are memory of NumPy's; others do not show theirs."""
    x, out, stream = xp.ones(N, dtype=xp.float32), xp.zeros(N, dtype=xp.float32), cuda.stream()
    twice.on(stream)(x, out)
    stream.synchronize()
    assert (np.asarray(out) == 2).all()
    with on("interp"):
        x, out = xp.ones(N, dtype=xp.float32), xp.zeros(N, dtype=xp.float32)
        for way in (twice, twice.on(cuda.stream())):
            with pytest.raises(ArgumentError, match="the Array does not show its memory"):
                way(x, out)
