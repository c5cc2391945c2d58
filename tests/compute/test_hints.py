# ruff: noqa: F821  # extents are names that annotations define
"""Hints and limits of launches: honoured, or refused by name."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compute.test_nests import jacobi, product, triangle
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.compute import Hints, Tensor, compute, f32, f64, grid, heterogeneous
from gridlane.core.errors import ArgumentError, LaunchError, UnsupportedError

EVERY = ["interp", *DEVICES]
WIDE = {"vector_width": 4, "unroll": 3}


@compute
def scaled(x: Tensor[f32, "M", "N"], out: Tensor[f32, "M", "N"]):
    for i, j in grid(M, N):
        out[i, j] = 3.0 * x[i, j]


@compute
def turned(x: Tensor[f32, "M", "N"], out: Tensor[f32, "N", "M"]):
    for i, j in grid(M, N):
        out[j, i] = x[i, j]


def arrays(m=7, n=10):
    x = np.arange(m * n, dtype=np.float32).reshape(m, n)
    return x, np.zeros_like(x)


@pytest.mark.parametrize("device", EVERY)
@pytest.mark.parametrize("words", [WIDE, {"vector_width": 3}, {"unroll": 16}])
def test_vectors_and_unrolled_loops(words, device):
    rng = np.random.default_rng(3)
    a, b = rng.random((5, 9), np.float32), rng.random((9, 10), np.float32)
    first = rng.random((2, 9, 9), np.float32)
    with gridlane.device(device):
        wide = [compute(hints=words)(each.function) for each in (product, scaled, jacobi)]
        out, plain = np.zeros((2, 5, 10), np.float32)
        wide[0](a, b, out)
        product.plain(a, b, plain)
        assert (out == plain).all()
        x, out = arrays()
        wide[1](x, out)
        assert (out == 3 * x).all()
        one, other = first.copy(), first.copy()
        wide[2](one[0], one[1], 3)
        jacobi.plain(other[0], other[1], 3)
        assert (one == other).all()


def test_what_is_written_out():
    text = compute(hints=WIDE)(product.function).emitted.kernels[0].text
    assert text.count("s = _f32(0.0)") == 4
    assert text.count("a[i, k]") == 12
    text = compute(hints={"unroll": 2})(triangle.function).emitted.kernels[0].text
    assert text.count("test = ") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"vektor_width": 4}, "no hint 'vektor_width'; did you mean vector_width"),
        ({"speed": 1}, "no hint 'speed'; hints are tensor_cores, vector_width"),
        ({"vector_width": 17}, "vector_width=17; it must be 1 to 16"),
        ({"unroll": 0}, "unroll=0; it must be 1 to 16"),
        ({"unroll": True}, "unroll=True; it must be 1 to 16"),
        ({"coalesced": 1}, "coalesced=1; it must be True or False"),
    ],
)
def test_words_of_hints(words, message):
    for make in (lambda: Hints(**words), lambda: compute(hints=words)(scaled.function)):
        with pytest.raises(ArgumentError, match=message):
            make()


def test_coalesced_accesses():
    nest = compute(hints={"coalesced": True})(scaled.function)
    x, out = arrays()
    nest(x, out)
    assert (out == 3 * x).all()
    nest = compute(hints={"coalesced": True})(turned.function)
    with pytest.raises(UnsupportedError, match="threads next to each other access el") as caught:
        nest(x, np.zeros((10, 7), np.float32))
    assert "out[j, i] = x[i, j]" in str(caught.value)


@pytest.mark.parametrize("device", EVERY)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"workgroup": (2048,)}, "2048 threads along x, and the most is "),
        ({"workgroup": (64, 64)}, "4096 threads, at most "),
        ({"launch_bounds": 4096}, r"launch_bounds=\(4096,\): a block has .* threads at most"),
        ({"shared_bytes": 1 << 30}, "shared_bytes=1073741824: a block has .* at most"),
        ({"hints": {"async_copy": True}}, "async_copy=True: these loops load from memory"),
    ],
)
def test_what_a_device_cannot(words, message, device):
    nest = compute(**words)(scaled.function)
    with gridlane.device(device):
        if device == "cuda" and "launch_bounds" in words:
            pytest.skip("other limits")
        with pytest.raises(UnsupportedError, match=f"{device}.*: .*{message}") as caught:
            nest(*arrays())
    assert caught.value.loc.line == scaled.function.__code__.co_firstlineno


@pytest.mark.parametrize("device", [each for each in EVERY if each != "cuda"])
def test_registers_are_limited_on_nvidia_alone(device):
    nest = compute(max_registers=64)(scaled.function)
    with gridlane.device(device), pytest.raises(UnsupportedError, match="max_registers=64"):
        nest(*arrays())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"launch_bounds": 0}, "launch_bounds=0; they are"),
        ({"launch_bounds": (64, 2, 1)}, "they are the threads of a block"),
        ({"workgroup": (16, 16), "launch_bounds": 128}, "has 256 threads, and launch_bounds 128"),
        ({"workgroup": 16}, "a workgroup has one to three extents of at least 1: 16"),
        ({"workgroup": (2.5,)}, r"at least 1: \(2.5,\)"),
        ({"max_registers": 2}, "max_registers=2; it must be at least 16"),
        ({"shared_bytes": -1}, "shared_bytes=-1; it must be 0 or more"),
        ({"compile_target": "both"}, "compile_target='both'; it must be device or het"),
    ],
)
def test_numbers_that_do_not_fit(words, message):
    with pytest.raises(ArgumentError, match=message):
        compute(**words)(scaled.function)


def test_launches_have_the_limits(monkeypatch):
    seen, whole = [], cuda.jit

    def counted(*args, **options):
        seen.append(options)
        return whole(*args, **options)

    monkeypatch.setattr(cuda, "jit", counted)
    nest = compute(launch_bounds=(64, 2), shared_bytes=4096)(scaled.function)
    x, out = arrays(5, 300)
    nest(x, out)
    assert (out == 3 * x).all()
    assert [each.pop("apart") for each in seen] == [True]
    assert seen == [{"fastmath": False, "launch_bounds": (64, 2)}]
    (program,) = nest._programs.values()
    with pytest.raises(LaunchError, match="launch bounds allow 64"):
        program.kernels[0][(1,), (128,)](x, out, 5, 300, 0, 0)
    (kernel,), shapes = program.kernels, []

    class Spy:
        def __getitem__(self, shape):
            shapes.append(shape)
            return kernel[shape]

    program.kernels = [Spy()]
    nest(x, np.zeros_like(out))  # other arrays than before, whose launches are not known
    ((_, block, _, shared),) = shapes
    assert np.prod(block) <= 64
    assert shared == 4096


# ---- two devices


def test_sizes_between_known_ones_are_measured():
    known, asked = heterogeneous.Threshold(), []

    def times(size):
        def measured(which):
            asked.append(size)
            return {"device": 5.0, "host": size / 100}[which]

        return known.is_device([np.zeros(size, np.uint8)], measured)

    assert [times(n) for n in (100, 4000, 100, 60, 5000, 600, 550, 700)] == [
        False, True, False, False, True, True, True, True,
    ]  # fmt: skip
    assert asked == [100, 100, 4000, 4000, 600, 600]
    assert str(known) == "the processor's up to 128 bytes, the device's from 512 bytes on"


def test_the_faster_device_computes(monkeypatch):
    nest = compute(device="interp", compile_target="heterogeneous")(scaled.function)
    assert "# heterogeneous: not measured yet" in nest.explain()
    x, out = arrays()
    nest(x, out)  # the interpreter is slower
    assert (out == 3 * x).all()
    assert "the processor's up to 1,024 bytes" in nest.explain()
    used = []
    whole = gridlane.device

    def counted(name):
        used.append(name)
        return whole(name)

    monkeypatch.setattr(gridlane, "device", counted)
    nest(x, out)
    assert used == ["cpu"]


def test_measured_calls_change_copies():
    @compute(device="interp", compile_target="heterogeneous")
    def counted(x: Tensor[f64, "N"]):
        for i in range(N):
            x[i] += 1.0

    x = np.zeros(5)
    counted(x)
    assert (x == 1).all()
