"""``floats="float32"`` of what users call: kernels, ufuncs, the cache, the trace."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.test_floats import NAMES, SAME_AS_NUMPY, VALUES, listed, numpys

from gridlane import cuda
from gridlane.compiler import artifact_key
from gridlane.compiler.cache import default_cache
from gridlane.core import config, trace
from gridlane.core.argtypes import float32, int32
from gridlane.core.options import FLOATS, KernelOptions, Target
from gridlane.cuda.ufuncs.generated import define
from gridlane.frontends.python.kernel_source import PythonSource
from gridlane.launch import current
from gridlane.launch.devices import get_device


@pytest.fixture(params=["interp", *DEVICES])
def device(request):
    found = get_device(request.param)
    current.choose(found)
    return found


def third(out, n):
    out[0] = n / 3


@cuda.jit(device=True)
def a_third(n):
    return n / 3


NARROW, WIDE = np.float32(1) / np.float32(3), 1 / 3


def test_answers_are_numpys_on_devices(device):
    """One kernel of all expressions, one element each."""
    expressions = [each for each in listed(SAME_AS_NUMPY) if numpys(each).dtype.kind != "c"]
    names = ", ".join(VALUES)
    body = "".join(f"    out[{at}] = {text}\n" for at, text in enumerate(expressions))
    kernel = cuda.jit(floats="float32", fma=False, fp64="refuse")(
        define("kernel", f"def kernel(out, {names}):\n{body}", dict(NAMES))
    )
    out = np.zeros(len(expressions), np.float32)
    arguments = dict(VALUES, i=np.int32(VALUES["i"]))
    kernel[1, 1](out, *arguments.values())
    wanted = np.array([np.float32(numpys(each)) for each in expressions])
    far = ~np.isclose(out, wanted, rtol=2e-6)
    assert not far.any(), [(expressions[at], out[at], wanted[at]) for at in np.flatnonzero(far)]


def test_the_option_of_kernels_and_device_functions():
    @cuda.jit(device=True, floats="float32")
    def narrow(n):
        return n / 3

    def calls(out, n):
        out[0] = a_third(n)
        out[1] = narrow(n)

    for floats, wanted in ((None, WIDE), ("float64", WIDE), ("float32", NARROW)):
        out = np.zeros(2)
        cuda.jit(third, floats=floats)[1, 1](out, 1)
        assert out[0] == wanted
        cuda.jit(calls, floats=floats)[1, 1](out, 1)
        assert out.tolist() == [wanted, NARROW]


def test_what_the_option_takes():
    with pytest.raises(ValueError, match=r"cuda\.jit: floats='single': one of float64, float32"):
        cuda.jit(third, floats="single")
    with pytest.raises(ValueError, match=r"cuda\.compile: floats=32: one of float64, float32"):
        cuda.compile(third, "void(float32[:], int32)", device=False, floats=32)


def test_the_ptx_of_a_signature():
    signature = "void(float32[:], int32)"
    wide, _ = cuda.compile_ptx(third, signature)
    narrow, _ = cuda.compile_ptx(third, signature, floats="float32")
    assert ".f64" in wide and ".f64" not in narrow


def test_ufuncs():
    def add(n):
        return n / 3

    n = np.ones(4, np.int64)
    vectorized = cuda.vectorize(["float64(int64)"], floats="float32")(add)
    assert vectorized(n).tolist() == [NARROW] * 4
    free = cuda.vectorize(target="cpu", floats="float32")(add)
    assert free(n).dtype == np.float32 and free.types == ["l->f"]
    assert cuda.vectorize(target="cpu")(add)(n).dtype == np.float64
    narrow = cuda.jit(device=True, floats="float32")(add)
    assert cuda.vectorize(target="cpu")(narrow)(n).dtype == np.float32
    assert cuda.vectorize(["float64(int64)"])(narrow)(n).tolist() == [NARROW] * 4
    listed = cuda.vectorize(["float64(int64)"], target="cpu", floats="float32")(add)
    assert listed(n).tolist() == [NARROW] * 4

    def fill(n, out):
        out[0] = n / 3

    several = cuda.guvectorize(["void(int64, float64[:])"], "()->()", floats="float32")(fill)
    assert several(n).tolist() == [NARROW] * 4
    reduced = cuda.reduce(lambda a, b: a + int(b) / 3, floats="float32")
    assert reduced(np.array([0.0, 1.0]), init=0) == np.float64(np.float32(1 / 3))


@pytest.mark.parametrize("make", ["vectorize", "guvectorize", "reduce"])
def test_a_device_function_has_its_options_already(make):
    with pytest.raises(TypeError, match=f"{make}: floats='float32' of a_third, which is a device"):
        if make == "vectorize":
            cuda.vectorize(["float64(int64)"], floats="float32")(a_third)
        elif make == "guvectorize":
            cuda.guvectorize(["void(int64, float64[:])"], "()->()", floats="float32")(a_third)
        else:
            cuda.reduce(a_third, floats="float32")


@pytest.fixture
def environment(monkeypatch):
    """Sets variables of the environment, as if the process had begun with them."""

    def set_(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        config.config.cache_clear()
        default_cache.cache_clear()

    yield set_
    monkeypatch.undo()
    config.config.cache_clear()
    default_cache.cache_clear()


def calling(inner):
    def calls(out, n):
        out[0] = inner(n)

    return calls


def test_a_warm_cache_keeps_them_apart(tmp_path, environment):
    """Four kernels: of two options, and of two device functions of one source. In the second round
    all come from the cache, each its own."""
    environment(GRIDLANE_CACHE="1", GRIDLANE_CACHE_DIR=str(tmp_path))
    for _ in range(2):
        for floats, wanted in (("float32", NARROW), ("float64", WIDE)):
            inner = cuda.jit(device=True, floats=floats)(a_third.py_func)
            for kernel in (cuda.jit(third, floats=floats), cuda.jit(calling(inner))):
                out = np.zeros(1)
                kernel[1, 1](out, 1)
                assert out[0] == wanted
        assert default_cache().stats().entries == 4


def test_keys():
    keys = {
        artifact_key(PythonSource(third), (float32[:], int32), KernelOptions(floats=floats), target)
        for floats in FLOATS
        for target in (Target("cpu"), Target("interp"))
    }
    assert len(keys) == 4 and None not in keys


def test_the_trace_names_it(monkeypatch, capfd):
    monkeypatch.setattr(trace, "enabled", lambda: True)
    out = np.zeros(1)
    cuda.jit(third, floats="float32")[1, 1](out, 1)
    cuda.jit(third)[1, 1](out, 1)
    lines = [line for line in capfd.readouterr().err.splitlines() if " launch " in line]
    assert [" floats=float32 emulated=" in line for line in lines] == [True, False]


def test_the_setting(environment):
    assert config.read({}).floats == "float64"
    assert config.read({"GRIDLANE_FLOATS": "float32"}).floats == "float32"
    with pytest.raises(ValueError, match="GRIDLANE_FLOATS='half': one of float64, float32"):
        config.read({"GRIDLANE_FLOATS": "half"})
    environment(GRIDLANE_FLOATS="float32")
    for options, wanted in (({}, NARROW), ({"floats": "float64"}, WIDE)):
        out = np.zeros(1)
        cuda.jit(third, **options)[1, 1](out, 1)
        assert out[0] == wanted
    assert cuda.vectorize(target="cpu")(a_third.py_func)(np.ones(1, int)).dtype == np.float32
