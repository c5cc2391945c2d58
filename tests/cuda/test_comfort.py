"""What makes errors short and helpful, and objects easy to look at."""

from __future__ import annotations

import logging
import random
import re
import sys
import threading
import time
import traceback
from html import unescape

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.waiting import until_blocked

import gridlane
from gridlane import compiler, cuda
from gridlane.compiler import progress
from gridlane.compiler.cache import DiskCache
from gridlane.core import config
from gridlane.core.errors import (
    ArgumentError,
    LaunchError,
    MissingError,
    NameLookupError,
    TypingError,
    UnsupportedError,
)
from gridlane.cuda.host import settings
from gridlane.runtime.protocol import Figures


@cuda.jit
def add(x, amount):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += amount


# ---- arrays


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.uint8])
def test_fill_astype_and_sum(device, dtype):
    with gridlane.device(device):
        host = np.arange(6, dtype=dtype).reshape(2, 3)
        array = cuda.to_device(host)
        assert array.sum() == 15
        assert array.sum().dtype == host.sum().dtype
        assert np.sum(array, axis=0).tolist() == [3, 5, 7]
        for target in (np.float32, np.int32, np.uint8, np.int16):
            got = array.astype(target)
            assert got.dtype == target
            np.testing.assert_array_equal(got.copy_to_host(), host.astype(target))
        np.testing.assert_array_equal(array[:, ::2].astype(np.float32).get(), host[:, ::2])
        assert array[:, ::2].sum() == 10
        array.fill(7)
        assert array.get().tolist() == [[7] * 3] * 2
        array[:, 1].fill(3)
        assert array.get().tolist() == [[7, 3, 7]] * 2
        array.fill(0)
        assert not array.get().any()


def test_fill_converts_as_numpy_does():
    pairs = np.zeros(3, [("n", np.int32), ("xy", np.float64, 2)])
    records = cuda.to_device(pairs)
    records.fill((1, [2, 3]))
    pairs.fill((1, [2, 3]))
    np.testing.assert_array_equal(records.copy_to_host(), pairs)
    small = cuda.to_device(np.zeros(3, np.uint8))
    small[1:].fill(2.7)
    assert small.copy_to_host().tolist() == [0, 2, 2]
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(OverflowError):
            small.fill(300)


def test_sums_of_nothing_and_of_many():
    assert cuda.to_device(np.zeros(0, np.float32)).sum() == np.float32(0)
    many = np.arange(100_001, dtype=np.int32)
    assert cuda.to_device(many).sum() == many.sum(dtype=np.int64)
    assert cuda.to_device(np.ones(300, bool)).sum() == 300
    assert cuda.to_device(np.ones(3, np.float32)).sum(dtype=np.float64).dtype == np.float64


def test_dtypes_that_the_device_does_not_convert():
    array = cuda.to_device(np.ones(3, np.complex64))
    with pytest.raises(NotImplementedError, match="convert on the host"):
        array.astype(np.float32)


def test_values_are_shown():
    assert repr(cuda.to_device(np.arange(3))) == (
        "DeviceNDArray([0, 1, 2], dtype=int64, device='cpu')"
    )
    grid = cuda.to_device(np.arange(4.0).reshape(2, 2))
    assert repr(grid) == (
        "DeviceNDArray([[0., 1.],\n               [2., 3.]], dtype=float64, device='cpu')"
    )
    assert "[0, 1, 2]" in cuda.to_device(np.arange(3))._repr_html_()


@pytest.mark.parametrize("shape", [(5000,), (7, 1000), (3, 4, 500), (2000, 2)])
def test_large_arrays_are_shown_as_numpy_shows_them(shape):
    host = np.arange(np.prod(shape)).reshape(shape)
    shown = repr(cuda.to_device(host))
    # The elements that are left out may be wider than all that are shown.
    with np.printoptions(threshold=0, edgeitems=3):
        want = np.array2string(host, separator=", ")
    assert "".join(shown.split()).startswith("DeviceNDArray(" + "".join(want.split()))
    assert f"shape={shape}" in shown


def test_an_array_is_shown_by_its_shape_during_a_capture():
    array, stream = cuda.to_device(np.arange(3)), cuda.stream()
    array = array.bind(stream)
    with cuda.capture(stream):
        assert repr(array) == "<DeviceNDArray shape=(3,) dtype=int64 on 'cpu'>"


@pytest.mark.parametrize(
    "name, word",
    [
        ("mean", r"copy_to_host\(\)\.mean\(\)"),
        ("tolist", r"a\.copy_to_host\(\) copies it"),
        ("cumsum", r"a\.copy_to_host\(\)\.cumsum, or write a kernel"),
        ("numpy", r"a\.copy_to_host\(\) copies it"),
    ],
)
def test_what_arrays_lack_is_told(name, word):
    array = cuda.to_device(np.arange(3))
    with pytest.raises(AttributeError, match=word):
        getattr(array, name)
    assert not hasattr(array, name)
    assert name not in dir(array) and "copy_to_host" in dir(array)


def test_errors_of_properties_are_their_own():
    with gridlane.device("interp"):
        array = cuda.to_device(np.arange(3))

    class Broken(type(array)):
        @property
        def secret(self):
            raise AttributeError("a reason of its own")

    with pytest.raises(AttributeError, match="a reason of its own"):
        Broken(array.shape, array.strides, array.dtype, 0, array.buffer, array.address).secret


# ---- kernels and names


def test_launches_are_shown():
    assert repr(add[1, (2, 3)]) == "<launch of add: grid=(1, 1, 1), block=(2, 3, 1), device='cpu'>"
    with gridlane.device("interp"):
        stream = cuda.stream()
    launch = add[4, (32, 2), stream, 64]
    assert repr(launch).endswith(f", sharedmem=64, stream={stream!r}, device='interp'>")
    rows = re.findall("<tr><th>(.*?)</th><td>(.*?)</td></tr>", launch._repr_html_())
    assert [(name, unescape(value)) for name, value in rows] == [
        ("grid", "4 blocks"),
        ("block", "32 x 2 threads"),
        ("threads", "256"),
        ("stream", repr(stream)),
        ("dynamic shared memory", "64 bytes"),
        ("device", "interp"),
    ]


def shown_rows(kernel) -> list[list[str]]:
    """The cells of the table that a notebook shows of a kernel."""
    lines = re.findall("<tr>(.*?)</tr>", kernel._repr_html_())
    return [[unescape(cell) for cell in re.findall("<t[hd]>(.*?)</t[hd]>", line)] for line in lines]


def test_kernels_are_shown(monkeypatch):
    @cuda.jit(fastmath=True, max_registers=32)
    def shown(x, amount):
        tile = cuda.shared.array(64, np.float32)
        tile[cuda.threadIdx.x] = amount
        x[cuda.grid(1)] += tile[cuda.threadIdx.x]

    text = "<kernel shown(x, amount), not compiled yet>"
    assert repr(shown) == text
    assert shown._repr_html_() == (
        "<div><b>kernel shown</b>(x, amount) fastmath, max_registers=32, not compiled yet</div>"
    )
    shown.compile("void(float32[::1], float32)")
    assert shown_rows(shown)[1:] == [
        ["(array(float32, 1d, C), float32)", *"------", "not launched yet"]
    ]
    for device in ("cpu", "interp"):
        with gridlane.device(device):
            shown[1, 64](np.zeros(64, np.float32), np.float32(1))
    types = "(array(float32, 1d, C), float32)"
    assert repr(shown) == f"<kernel shown(x, amount), compiled for {types}>"
    head, cpu, interp = shown_rows(shown)
    assert head[:3] == ["signature", "device", "block"] and len(cpu) == len(interp) == len(head)
    assert cpu[:3] == [types, "cpu", "64"] and cpu[3].startswith("object, ")
    assert cpu[4:7] == ["-", "256", "-"] and " ms" in cpu[7]
    assert interp[:3] == [types, "interp", "64"] and interp[5] == "256"
    ((_, code), _) = next(iter(shown.overloads.values())).codes()
    monkeypatch.setattr(type(code.kernel), "figures", lambda self: Figures(40, 16, 512, 0, 1024))
    assert shown_rows(shown)[1][4:7] == ["40", "512", "16"]

    def lost(self):
        raise RuntimeError("the device is lost")

    monkeypatch.setattr(type(code.kernel), "figures", lost)
    assert shown_rows(shown)[1][4] == "-"


def test_many_signatures_and_device_functions_are_shown():
    @cuda.jit
    def plain(x):
        x[0] = 0

    for width in (8, 16, 32, 64):
        plain.compile(f"void(int{width}[::1])")
    assert repr(plain) == "<kernel plain(x), compiled for 4 signatures>"
    assert len(shown_rows(plain)) == 5
    function = cuda.jit(device=True)(lambda x: x)
    assert repr(function) == "<device function <lambda>(x)>"
    assert function._repr_html_() == (
        "<div><b>device function &lt;lambda&gt;</b>(x) device, compiled into the kernels that call "
        "it</div>"
    )


def test_other_objects_are_shown():
    @cuda.jit("void(int32[::1])")
    def plain(x):
        x[0] = 0

    (kernel,) = plain.overloads.values()
    assert repr(kernel) == "<kernel plain(array(int32, 1d, C)), not launched yet>"
    for device in ("cpu", "interp", "cpu"):
        with gridlane.device(device):
            plain[1, 1](np.ones(1, np.int32))
    plain[1, 2](np.ones(1, np.int32))
    assert repr(kernel) == "<kernel plain(array(int32, 1d, C)), on cpu, interp>"
    assert repr(plain.forall(10)) == "<launch of plain for 10 tasks: block=256>"
    stream = cuda.stream()
    assert repr(plain.forall(9, 32, stream, 8)) == (
        f"<launch of plain for 9 tasks: block=32, sharedmem=8, stream={stream!r}>"
    )
    event = cuda.event()
    assert repr(event) == f"<CUDA event {event.handle} on cpu>"
    assert repr(cuda.event(timing=False)).endswith(" on cpu, without times>")
    assert repr(cuda.gpus).startswith("<CUDA devices: ")


def test_the_disk_cache_is_told_of(monkeypatch, tmp_path):
    monkeypatch.setattr(compiler, "default_cache", lambda: DiskCache(tmp_path))
    for ending in (" ms", " ms, from the disk cache"):

        @cuda.jit
        def kept(x):
            x[0] = 0

        kept[1, 1](np.ones(1))
        assert shown_rows(kept)[1][-1].endswith(ending)


def test_ipython_shows_kernels_as_html():
    formatter = pytest.importorskip("IPython.core.formatters").DisplayFormatter()
    formatter.active_types = ["text/plain", "text/html"]
    for each in (add, add[1, 1], cuda.to_device(np.arange(3))):
        texts, _ = formatter.format(each)
        assert texts["text/html"] == each._repr_html_()
        assert texts["text/plain"] == repr(each)


def test_what_was_meant():
    with pytest.raises(MissingError, match=r"cuda\.griid; did you mean grid\?"):
        cuda.griid
    with pytest.raises(TypeError, match=r"'fastmth'; did you mean fastmath\?"):
        cuda.jit(fastmth=True)

    @cuda.jit
    def misspelt(x):
        x[0] = np.sqr(x[0])

    with pytest.raises(NameLookupError, match=r"'sqr'; did you mean sqrt\?"):
        misspelt[1, 1](np.ones(1))

    @cuda.jit
    def unknown(values):
        values[0] = valuse[1]  # noqa: F821

    with pytest.raises(NameLookupError, match=r"did you mean values\?"):
        unknown[1, 1](np.ones(1))

    @cuda.jit
    def attribute(x):
        x[0] = x.shpe[0]

    with pytest.raises(TypingError, match=r"did you mean shape\?"):
        attribute[1, 1](np.ones(1))


@pytest.mark.parametrize("value", [[1, 2], range(3)])
def test_lists_are_to_be_arrays(value):
    with pytest.raises(ArgumentError, match=r"pass np\.array\(x\)"):
        add[1, 1](value, 1)


@pytest.mark.parametrize(
    "value, words",
    [
        ({1: 2}, "pass the arrays and numbers in it, or a namedtuple of them"),
        ("text", r"pass np\.array\(\[x\]\), and read its element 0; where the text is a choice"),
        ({1}, r"pass np\.array\(list\(x\)\)"),
        (abs, "call it in the kernel by its global name"),
        (dict, "a type is a constant of a kernel"),
        (object(), "or a namedtuple of them"),
        (np.array([None]), r"dtype object; if it holds numbers, pass x\.astype\(np\.float64\)"),
        (np.zeros(1, "V3"), "; convert it to another dtype with astype"),
    ],
)
def test_arguments_say_what_to_pass(value, words):
    with pytest.raises(ArgumentError, match=words):
        add[1, 1](value, 1)


def test_signatures_say_what_to_pass():
    kernel = cuda.jit("void(float32[:], float32)")(add.py_func)
    for value, words in (
        (np.ones(3), r"takes array\(float32, 1d, A\); pass x\.astype\(np\.float32\), or leave"),
        (np.ones((3, 3), np.float32), "; pass one of 1 dimensions, or leave the signature away"),
        (3.0, r"takes array\(float32, 1d, A\)$"),
    ):
        with pytest.raises(ArgumentError, match=words):
            kernel[1, 1](value, 1)
    contiguous = cuda.jit("void(float32[::1], float32)")(add.py_func)
    with pytest.raises(ArgumentError, match="so that each type gets a kernel of its own"):
        contiguous[1, 1](np.ones(6, np.float32)[::2], 1)


def test_shapes_say_what_to_launch():
    x = np.ones(3)
    with pytest.raises(LaunchError, match="2048 along x, and the most is 1024; use more and small"):
        add[1, 2048](x, 1)
    with pytest.raises(LaunchError, match="use larger blocks, or a loop in the kernel"):
        add[(1, 2**20), 1](x, 1)
    with pytest.raises(TypeError, match=r"got \[1\.5\]; n / threads is a float: write \(n \+ thr"):
        add[3 / 2, 1]
    with pytest.raises(TypeError, match=r"got \['1'\]$"):
        add["1", 1]
    with pytest.raises(LaunchError, match="give each block less work at a time"):
        add[1, 1, 0, 10**8](x, 1)


HOST_FUNCTIONS = {
    "np.dot(x, x)": "multiply and add the elements in a loop",
    "sorted(x)[0]": "sort on the host",
    "map(abs, x)": "write a loop",
    "type(1)": r"write isinstance\(value, int\)",
    "len(str(x[0]))": "texts are made on the host",
    "list(x)[0]": "is a thread's own array",
    "open('f')": "read on the host",
    "np.random.rand()": "xoroshiro128p_uniform_float32",
    "random.random()": "xoroshiro128p_uniform_float32",
    "time.perf_counter()": r"cuda\.event\(\)",
    "np.linalg.det(x)": "kernels call the names of cuda, math, operator",
}


@pytest.mark.parametrize("call", HOST_FUNCTIONS)
def test_functions_of_the_host_say_what_to_call(call):
    space = {"np": np, "random": random, "time": time}
    text = f"def kernel(x):\n    x[0] = {call}\n"
    exec(text, space)
    with pytest.raises(UnsupportedError, match=HOST_FUNCTIONS[call]):
        cuda.jit(source=text)(space["kernel"])[1, 1](np.ones(3))


def test_objects_of_other_libraries():
    class Series:
        __module__ = "pandas.core.series"

    class Other:
        def __array__(self, dtype=None, copy=None):
            return np.zeros(3)

    with pytest.raises(ArgumentError, match=r"pass x\.to_numpy\(copy=True\)"):
        add[1, 1](Series(), 1)
    with pytest.raises(ArgumentError, match=r"np\.array\(x\), the copy"):
        add[1, 1](Other(), 1)


# ---- tracebacks, logs, progress


def frames_of(call) -> int:
    with pytest.raises(ArgumentError) as found:
        call()
    return len(traceback.extract_tb(found.value.__traceback__))


def test_tracebacks_end_at_the_launch(monkeypatch):
    short = frames_of(lambda: add[1, 1]("text", 1))
    assert short == 4 - config.config().native  # of this test twice, and of the launch
    monkeypatch.setattr(settings, "FULL_TRACEBACKS", 1)
    assert frames_of(lambda: add[1, 1]("text", 1)) > short


def test_compilations_are_logged(caplog, monkeypatch, tmp_path):
    caplog.set_level(logging.INFO, "gridlane")
    number = time.time_ns() % 2**31  # no code of an earlier run is in the cache

    @cuda.jit
    def logged(x):
        x[0] = number

    logged[1, 1](np.ones(1))
    (record,) = [each for each in caplog.records if "logged" in each.getMessage()]
    assert record.name == "gridlane" and "compiled logged for cpu in" in record.getMessage()


def test_a_terminal_is_told_of_long_compilations(capsys, monkeypatch):
    begun = threading.Event()

    def write(line):
        if not begun.is_set():
            begun.set()
            until_blocked()  # the compilation has ended, and waits for this line
        print(line, file=sys.stderr)

    monkeypatch.setattr(progress.trace, "write", write)
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda self: True, raising=False)
    monkeypatch.setattr(progress, "LONG", 0.02)
    with progress.compiling("slow", "cpu"):
        assert begun.wait(60)
    monkeypatch.setattr(progress, "LONG", 600)
    with progress.compiling("quick", "cpu"):
        pass
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "compiling slow for cpu, which takes more than" in lines[0]
    assert "compiled slow for cpu in" in lines[1]
