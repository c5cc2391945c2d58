"""Records as values on every device, against the same function in Python."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device

POINT = np.dtype([("x", np.float32), ("y", np.float32)])
LINE = np.dtype([("start", POINT), ("end", POINT), ("cells", np.int32, (2, 3)), ("tag", np.int32)])


@pytest.fixture(params=["interp", *DEVICES], autouse=True)
def device(request):
    found = get_device(request.param)
    current.choose(found)
    return found


def middle(line):
    x = (line.start.x + line.end.x) * np.float32(0.5)
    y = (line.start.y + line.end.y) * np.float32(0.5)
    return POINT(x, y)


def lines(points, out, n, of):
    """Keep two of the lines that a loop makes, in an order that the thread decides."""
    i = cuda.grid(1)
    first = last = LINE(points[0], points[0], 0, -1)
    for k in range(n):
        line = LINE(points[k], points[(k + i) % n], ((k, i, 1), (2, 3, k + i)), tag=k)
        if k == i % 3:
            first = line
        if line.cells[k & 1][i % 3] & 1:
            last = line
    center = of(first)
    out[2 * i] = LINE(center, last.end, first.cells, last.tag)
    out[2 * i + 1] = last


def expected(points, n, threads):
    """The same in Python, with records as tuples."""
    rows = []
    for i in range(threads):
        first = last = (points[0], points[0], ((0,) * 3,) * 2, -1)
        for k in range(n):
            line = (points[k], points[(k + i) % n], ((k, i, 1), (2, 3, k + i)), k)
            if k == i % 3:
                first = line
            if line[2][k & 1][i % 3] & 1:
                last = line
        half = np.float32(0.5)
        ends = [(first[0][f] + first[1][f]) * half for f in ("x", "y")]
        rows += [(tuple(ends), last[1], first[2], last[3]), last]
    return np.array([tuple(map(_plain, row)) for row in rows], LINE)


def _plain(value):
    return value.tolist() if isinstance(value, np.void) else value


def test_values_in_loops_and_calls():
    rng = np.random.default_rng(7)
    points = np.zeros(11, POINT)
    points["x"], points["y"] = rng.integers(-99, 99, (2, 11))
    threads = 96
    of = cuda.jit(device=True)(middle)

    @cuda.jit
    def kernel(points, out, n):
        _lines(points, out, n, of)

    _lines = cuda.jit(device=True)(lines)
    out = np.zeros(2 * threads, LINE)
    kernel[3, 32](points, out, np.int32(11))
    assert out.tobytes() == expected(points, 11, threads).tobytes()


def test_an_array_in_a_record_stays_on_the_device():
    """A store to an element reaches the record, as in numba."""
    dtype = np.dtype([("x", np.int32), ("h", np.float32, (2, 3)), ("r", [("q", "S3", 2)])])
    records = cuda.to_device(np.zeros(2, dtype))
    record = records[1]
    record["h"][0, 1] = 3
    record["h"][1] = [4, 5, 6]
    record["r"]["q"][1] = b"abcd"
    record["x"] = 7
    found = records.copy_to_host()
    assert found["h"].tolist() == [[[0] * 3] * 2, [[0, 3, 0], [4, 5, 6]]]
    assert found["r"]["q"].tolist() == [[b"", b""], [b"", b"abc"]] and found["x"].tolist() == [0, 7]
    for value in (8, [1, 2, 3], np.ones((2, 3))):
        record["h"] = value
        np.testing.assert_array_equal(record["h"], np.broadcast_to(value, (2, 3)))
