"""Programs on a local cluster of Dask: kernels on blocks, and workers that end."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from gridlane import cuda, tiles, xp
from gridlane.compute import Tensor, compute, f64, grid
from gridlane.core.errors import ArgumentError, MissingError
from gridlane.distributed import clusters, connect, local, map_blocks, map_overlap
from gridlane.tiles import language as tl

distributed = pytest.importorskip("distributed", reason="distributed is not installed")
da = pytest.importorskip("dask.array", reason="dask[array] is not installed")
ndimage = pytest.importorskip("scipy.ndimage", reason="scipy is not installed")


@pytest.fixture(scope="module")
def client():
    with local(2) as client:
        yield client


def _kernels():
    """Kernels without a module that workers could import, and a weight that they read."""
    scale = 2.0

    @cuda.jit
    def scaled(x, y, out):
        i, j = cuda.grid(2)
        if i < out.shape[0] and j < out.shape[1]:
            out[i, j] = x[i, j] * scale + y[i, j]

    weights = np.exp(-0.5 * (np.arange(-4, 5) / 1.0) ** 2)
    weights /= weights.sum()

    @cuda.jit
    def gaussian(x, out):
        i, j = cuda.grid(2)
        rows, columns = x.shape
        if i >= 4 and j >= 4 and i < rows - 4 and j < columns - 4:
            total = 0.0
            for a in range(9):
                row = 0.0
                for b in range(9):
                    row += weights[b] * x[i + a - 4, j + b - 4]
                total += weights[a] * row
            out[i, j] = total

    @cuda.jit
    def median(x, out):
        i, j = cuda.grid(2)
        if i < 1 or j < 1 or i >= x.shape[0] - 1 or j >= x.shape[1] - 1:
            return
        window = cuda.local.array(9, np.float64)
        for n in range(9):
            value, place = x[i + n // 3 - 1, j + n % 3 - 1], n
            while place > 0 and window[place - 1] > value:
                window[place] = window[place - 1]
                place -= 1
            window[place] = value
        out[i, j] = window[4]

    @cuda.jit
    def life(x, out):
        i, j = cuda.grid(2)
        if 1 <= i < x.shape[0] - 1 and 1 <= j < x.shape[1] - 1:
            count = 0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    if a != 0 or b != 0:
                        count += x[i + a, j + b]
            out[i, j] = 1 if count == 3 or (count == 2 and x[i, j] == 1) else 0

    return scaled, gaussian, median, life


SCALED, GAUSSIAN, MEDIAN, LIFE = _kernels()
IMAGE = np.random.default_rng(1).random((60, 84))


def _image():
    return da.from_array(IMAGE, chunks=(25, 30))


def test_blocks(client):
    result = map_blocks(SCALED, _image(), _image() + 1)
    assert result.chunks == _image().chunks and result.dtype == np.float64
    assert np.array_equal(result.compute(), IMAGE * 2 + (IMAGE + 1))


def test_gaussian_filter(client):
    result = map_overlap(GAUSSIAN, _image(), depth=4, boundary="reflect").compute()
    assert np.allclose(result, ndimage.gaussian_filter(IMAGE, 1.0, truncate=4.0), atol=1e-12)


def test_median_filter(client):
    result = map_overlap(MEDIAN, _image(), depth=1, boundary="nearest").compute()
    assert np.array_equal(result, ndimage.median_filter(IMAGE, 3, mode="nearest"))


def _life_of_numpy(board):
    around = sum(
        np.roll(board, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)
    )
    return ((around == 3) | ((around == 2) & (board == 1))).astype(board.dtype)


def test_life(client):
    board = (IMAGE > 0.6).astype(np.int8)
    cells, expected = da.from_array(board, chunks=(20, 21)), board
    for _ in range(4):
        cells = map_overlap(LIFE, cells, depth=1, boundary="periodic")
        expected = _life_of_numpy(expected)
    assert np.array_equal(cells.compute(), expected) and expected.any()


def _others():
    @compute
    def doubled(x: Tensor[f64, "N"], out: Tensor[f64, "N"]):
        for i in grid(N):
            out[i] = 2.0 * x[i]

    @tiles.jit
    def tile(x, out, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

    def tiled(x, out):
        tile[(-(-x.size // 16),)](x, out, x.size, B=16)

    raw = cuda.RawKernel(
        'extern "C" __global__ void twice(const double *x, double *out) {'
        " int i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = 2 * x[i]; }",
        "twice",
    )
    return {"loops": doubled, "a tile program": tiled, "CUDA C++": raw}


OTHERS = _others()


@pytest.mark.parametrize("name", OTHERS)
def test_other_kernels(client, name):
    x = da.arange(96, chunks=32, dtype="f8")
    assert map_blocks(OTHERS[name], x, block=32).compute().tolist() == [2 * v for v in range(96)]


def test_scalars_and_dtypes(client):
    @cuda.jit
    def above(x, limit, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] > limit

    result = map_blocks(above, da.arange(7, chunks=4), 3, dtype=bool)
    assert result.dtype == bool and result.compute().tolist() == [False] * 4 + [True] * 3


def test_a_kernel_that_writes_to_its_block_is_refused():
    @cuda.jit
    def changed(x, out):
        x[0] = 1

    with pytest.raises(Exception, match=r"read-only|readonly"):
        map_blocks(changed, da.arange(4, chunks=4)).compute(scheduler="sync")


def test_a_loop_nest_that_writes_to_its_block_is_refused():
    @compute
    def writes(x: Tensor[f64, "N"], out: Tensor[f64, "N"]):
        for i in grid(N):
            out[i] = x[i]
            x[i] = 1.0

    with pytest.raises(ArgumentError, match="read-only"):
        map_blocks(writes, da.from_array(np.zeros(4))).compute(scheduler="sync")


def test_a_raw_kernel_writes_to_a_copy_of_its_block():
    text = """extern "C" __global__ void k(double *x, double *out) {
        out[threadIdx.x] = x[threadIdx.x];
        x[threadIdx.x] = 9;
    }"""
    x = np.arange(4.0)
    result = map_blocks(cuda.RawKernel(text, "k"), da.from_array(x, chunks=4), block=4)
    assert np.array_equal(result.compute(scheduler="sync"), np.arange(4.0))
    assert np.array_equal(x, np.arange(4.0))


def test_what_is_no_kernel_is_refused():
    with pytest.raises(ArgumentError, match=r"one array of dask.array"):
        map_blocks(SCALED, np.zeros(3))
    four = da.zeros((2, 2, 2, 2), chunks=2)
    with pytest.raises(ArgumentError, match="the array has 4"):
        map_blocks(SCALED, four, four).compute(scheduler="sync")
    with pytest.raises(ArgumentError, match="pass a Python function"):
        map_blocks(tiles.jit(_plain), four)
    with pytest.raises(ArgumentError, match="at least 1"):
        local(0)


def _plain(x):
    pass


def test_without_dask_it_says_what_to_install(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(clusters, "import_module", absent)
    with pytest.raises(MissingError, match=r"pip install 'gridlane\[dask\]'"):
        map_blocks(SCALED, np.zeros(3))


def test_device_arrays_of_tasks(client):
    @cuda.jit
    def triple(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 3

    def on_worker(array, kernel):
        kernel[1, 32](array)
        return array, xp.asarray([1, 2]) + 1

    array, lazy = client.submit(on_worker, cuda.to_device(np.arange(20)), triple).result()
    assert array.copy_to_host().tolist() == [3 * n for n in range(20)]
    assert np.asarray(lazy).tolist() == [2, 3]


def test_arrays_go_from_worker_to_worker(client):
    one, other = client.scheduler_info()["workers"]
    made = client.submit(lambda: cuda.to_device(np.arange(1000)), workers=[one], pure=False)
    total = client.submit(lambda a: int(a.copy_to_host().sum()), made, workers=[other])
    assert total.result() == 499500


def test_sizes_of_arrays(client):
    from dask.sizeof import sizeof

    assert sizeof(cuda.device_array(1 << 20)) == 8 << 20 == sizeof(xp.zeros(1 << 20))
    made = client.submit(lambda: cuda.device_array(1 << 20), pure=False)
    distributed.wait(made)
    assert client.run_on_scheduler(_bytes_of, key=made.key) >= 8 << 20


def _bytes_of(dask_scheduler, key):
    return dask_scheduler.tasks[key].nbytes


def test_a_worker_that_is_killed(client, tmp_path):
    """The first task that comes to a marked block ends its process; the answer is the same."""
    mark = tmp_path / "killed"
    x = _image()

    def ending(block, kernel, path):
        if block[0, 0] == IMAGE[0, 0] and not Path(path).exists():
            Path(path).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        out = np.zeros_like(block)
        kernel[(4, 4), (16, 16)](block, block, out)
        return out

    result = x.map_blocks(ending, SCALED, str(mark), dtype="f8", meta=np.empty((0, 0)))
    assert np.array_equal(result.compute(), IMAGE * 3) and mark.exists()
    again = map_overlap(GAUSSIAN, x, depth=4, boundary="reflect").compute()
    assert np.allclose(again, ndimage.gaussian_filter(IMAGE, 1.0, truncate=4.0), atol=1e-12)


def test_clusters_of_others_are_connected():
    """Workers of a cluster that gridlane did not start cannot send device arrays until then."""
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.Client(processes=True, set_as_default=False, **options) as client:
        made = client.submit(lambda: cuda.to_device(np.arange(3)), pure=False)
        with pytest.raises(Exception, match=r"copy_to_host\(\)"):
            made.result()
        assert connect(client) is client
        made = client.submit(lambda: cuda.to_device(np.arange(3)), pure=False)
        assert made.result().copy_to_host().tolist() == [0, 1, 2]
