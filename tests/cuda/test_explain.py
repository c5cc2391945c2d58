"""``kernel.explain()``: what becomes of each line, compared with the code that is made."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import compiler, cuda
from gridlane.core.compact import Variant
from gridlane.core.options import Target
from gridlane.cuda.kernels.explaining import NOTHING
from gridlane.launch import current
from gridlane.launch.devices import get_device


@pytest.fixture(params=["interp", *DEVICES])
def device(request):
    found = get_device(request.param)
    current.choose(found)
    return found


@pytest.fixture
def cpu():
    current.choose(get_device("cpu"))


@cuda.jit(device=True)
def pick(y, k):
    return y[k]


def rows(a, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i]


def gathers(a, index, out):
    i = cuda.grid(1)
    out[i] = pick(a, index[i])


def scatters(a, index, out):
    i = cuda.grid(1)
    out[index[i]] = a[i]


def one(a, out):
    i = cuda.grid(1)
    out[i] = a[0]


def branches(a, out, n):
    i = cuda.grid(1)
    if n > 3:
        out[i] = 1
    if a[i] > 0:
        out[i] = a[i] / 3
    else:
        out[i] = a[i] / 5
    for _ in range(int(a[i])):
        out[i] += 1


def shares(a, out):
    tile = cuda.shared.array(32, np.float32)
    tile[cuda.threadIdx.x] = a[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[31 - cuda.threadIdx.x]


F, I = "float32[::1]", "int32[::1]"


def explained(function, types, block=64):
    kernel = cuda.jit(function)
    kernel.compile(f"({types})")
    return kernel, kernel.explain(block=block)


def of_line(text, part):
    """What is said of the line with a text, by its kind."""
    lines = text.splitlines()
    (at,) = [n for n, line in enumerate(lines) if part in line and not line.startswith(" ")]
    told = {}
    for line in lines[at + 1 :]:
        if not line.startswith("    "):
            break
        what, how = line.strip().split(": ", 1)
        told[what] = how
    return told


def test_rows_are_vectors_under_a_guard(cpu):
    _, text = explained(rows, f"{F}, {F}")
    assert "on cpu, blocks of 64x1x1:" in text.splitlines()[0]
    assert of_line(text, "if i < out.size")["if"].startswith("a copy without masks")
    assert of_line(text, "out[i] = a[i]") == {
        "load": "a vector; a vector, masked",
        "store": "a vector; a vector, masked",
    }


def test_the_line_of_a_device_function(cpu):
    _, text = explained(gathers, f"{F}, {I}, {F}")
    assert of_line(text, "return y[k]")["load"].startswith("gathered")
    assert of_line(text, "out[i] = pick")["load"] == "a vector"


@pytest.mark.parametrize("function", [rows, gathers, scatters, one])
def test_what_is_told_is_in_the_code(cpu, function):
    indexed = "" if function in (rows, one) else f"{I}, "
    kernel, text = explained(function, f"{F}, {indexed}{F}")
    code = next(iter(kernel.overloads.values())).inspect_native("llvm")
    assert ("gathered" in text) == (re.search(r"call .*masked\.gather", code) is not None)
    assert ("scattered" in text) == (re.search(r"call .*masked\.scatter", code) is not None)
    assert ("one scalar for all lanes" in text) == (function is one)


def test_branches_and_loops(cpu):
    _, text = explained(branches, f"{F}, {F}, int64")
    assert of_line(text, "if n > 3")["if"] == "all lanes agree: a branch"
    assert of_line(text, "if a[i] > 0")["if"] == "lanes differ: each side masked"
    assert "lanes differ: masked" in of_line(text, "for _ in range")["loop"]


def test_every_device_explains(device):
    _, text = explained(gathers, f"{F}, {I}, {F}")
    target = "cpu" if device.name == "interp" else device.target((64, 1, 1)).name
    assert f"on {target}, blocks of" in text
    if target == "cpu":
        assert "gathered" in text
    elif target == "metal":
        assert text.splitlines()[1:] == [NOTHING]
    else:
        assert "narrowed to 32 bits" in of_line(text, "i = cuda.grid(1)")["integers"]
    array = [cuda.to_device(np.arange(64, dtype=t)) for t in (np.float32, np.int32, np.float32)]
    cuda.jit(gathers)[1, 64](*array)  # and what it explains is still right
    assert (array[2].copy_to_host() == np.arange(64)).all()


@pytest.mark.parametrize(("function", "coarse"), [(rows, True), (shares, False)])
def test_blocks_of_nvidia_gpus_are_coarsened_or_not(cpu, function, coarse):
    kernel = cuda.jit(function).compile(f"({F}, {F})")
    target = Target("cuda", processor="sm_80", variant=Variant(compact=True, coarse=True))
    found = compiler.decisions(kernel.module, target)
    (told,) = [each.how for each in found if each.what == "blocks"]
    assert told.startswith("coarsened: each does 4") == coarse
    integers = {each.loc.line: each.how for each in found if each.what == "integers"}
    assert any("narrowed" in how for how in integers.values())


def test_a_signature_of_several(cpu):
    kernel = cuda.jit(rows)
    assert "is not compiled yet" in kernel.explain()
    for types in (f"({F}, {F})", "(float64[::1], float64[::1])"):
        kernel.compile(types)
    assert kernel.explain().count("on cpu") == 2
    assert kernel.explain(f"({F}, {F})").count("on cpu") == 1
    with pytest.raises(KeyError, match="is not compiled for"):
        kernel.explain("(int8[:],)")
