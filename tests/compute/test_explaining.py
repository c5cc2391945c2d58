# ruff: noqa: F821  # extents are names that annotations define
"""What ``explain`` says of schedules: loops with reasons, and the roofline."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compute.test_nests import jacobi, product, triangle

import gridlane
from gridlane.compute import Tensor, compute, f32, f64, grid, running
from gridlane.compute.roofline import work_of
from gridlane.profiler.peaks import Peaks


@pytest.fixture(autouse=True)
def peaks(monkeypatch):
    known = Peaks(100e9, 1e12, 0.5e12)
    monkeypatch.setattr(running, "peaks", lambda device: known if device.name == "cpu" else None)


def lines(nest, *args):
    return nest.explain(*args).split("def host")[0].splitlines()


def test_factors_may_be_rounded_by_the_word_for_tensor_cores_alone():
    for words, text in (
        ({"fastmath": True}, ""), ({"hints": {"tensor_cores": True}}, ", precision='tf32'")
    ):  # fmt: skip
        found = lines(compute(kernel="matmul", **words)(product.function))
        assert f"# large ones: tiles.kernels.matmul(a, b{text}) -> out" in found


def test_loops_with_reasons():
    found = lines(product)
    assert found[0] == "# product: matmul, on cpu"
    assert found[1] == "# large ones: tiles.kernels.matmul(a, b) -> out"
    body = [each for each in found if not each.startswith("#") and each]
    starts = [
        "for c1 in range(0, M):  # i: threads along y: no dependence; of 3 accesses 0 step by one",
        "    for c3 in range(0, N):  # j: threads along x: no dependence; of 3 accesses 2 step by",
        "        s = 0.0",
        "        for c5 in range(0, K):  # k: each thread: s is a sum by +, in order (line ",
        "            s += a[i, k] * b[k, j]",
        "        out[i, j] = s",
    ]
    assert len(body) == len(starts)
    for one, start in zip(body, starts, strict=True):
        assert one.startswith(start)


def test_loops_of_the_host_and_conditions():
    of_lanes = compute(workgroup=(32,))(jacobi.function)
    (first,) = [each for each in lines(of_lanes) if "_t:" in each]
    assert "the host, a launch each: it carries " in first and "from line" in first
    assert any(each.endswith("if not test: out[i] -= min(x[i, j], 2)") for each in lines(triangle))


def test_threads_that_walk():
    found = lines(jacobi)
    assert any("# tiles: the host, a launch each: it carries " in each for each in found)
    blocks = [each for each in found if "a block each: no dependence" in each]
    assert [each.split("# ")[1][:24] for each in blocks] == [
        "tiles: threads along y, ", "tiles: threads along x, "
    ]  # fmt: skip


def test_schedules_by_hand():
    found = lines(product.schedule("i/4", "j", "i", "k", threads=("j", "i/4")))
    assert any(
        each.startswith("for c1 in range(0, M, 4):  # i/4: threads along y") for each in found
    )
    assert "# the user's order" in found


def test_the_roofline_of_arguments():
    a, b, out = np.zeros((64, 32), np.float32), np.zeros((32, 16), np.float32), np.zeros((64, 16))
    (line,) = [e for e in lines(product, a, b, out.astype(np.float32)) if "roofline" in e]
    count = 4 * (64 * 32 + 32 * 16 + 64 * 16)
    assert f"at M = 64, K = 32, N = 16: {count / 1e3:.3g} kB, 65.5 kFLOP" in line
    assert "cpu (100 GB/s, 1 TFLOP/s) needs 143 ns at least, bound by memory" in line
    (line,) = [e for e in lines(product) if "roofline" in e]
    assert "needs 2.15 ms at least, bound by compute" in line
    with gridlane.device("interp"):
        assert any(each.endswith("the peaks of interp are unknown") for each in lines(product))


@compute
def corner(x: Tensor[f64, "N", "N"], y: Tensor[f32, "N"], out: Tensor[f64, "N", "N"]):
    for i in range(1, N):
        for j in range(i + 1):
            out[i, j] = 2.0 * x[i - 1, j] + out[i, j] * y[j]


@pytest.mark.parametrize("n", [7, 30, 300])
def test_the_work_is_what_python_counts(n):
    """Points of triangles are estimated by small ones: exact where they are small, and near."""
    work = work_of(corner._polyhedra, corner._typing, {"N": n})
    points = [(i, j) for i in range(1, n) for j in range(i + 1)]
    elements = 3 * 8 * len(points) + 4 * n
    assert work.narrow == 0
    near = {"rel": 1e-9 if n <= 64 else 0.03}
    assert work.wide == pytest.approx(3 * len(points), **near)
    assert work.bytes == pytest.approx(elements, **near)


def test_an_extent_with_bounds_and_rectangles():
    @compute
    def scaled(x: Tensor[f32, "M", 5], out: Tensor[f32, "M", 5]):
        for i, j in grid(M, 5):
            out[i, j] = 3.0 * x[i, j]

    work = work_of(scaled._polyhedra, scaled._typing, {"M": 1000})
    assert (work.bytes, work.narrow, work.wide) == (40_000, 5000, 0)
