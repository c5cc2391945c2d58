# ruff: noqa: F821  # extents are names that annotations define
"""Schedules of nests by measurement."""

from __future__ import annotations

import numpy as np
import pytest

import gridlane
from gridlane.compute import Tensor, compute, f32, f64, grid, i64
from gridlane.compute.scheduled import rates_of
from gridlane.compute.tuning import CHOSEN, NestSubject, Variants
from gridlane.core.errors import ArgumentError
from gridlane.tuning import search, store
from gridlane.tuning.errors import TuningError
from gridlane.tuning.results import State


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(search, "_SAMPLE_S", 0.02)
    monkeypatch.setattr(store, "place_of", lambda device, *parts: None)


@compute
def sums(a: Tensor[i64, "M", "N"], rows: Tensor[i64, "M"], columns: Tensor[i64, "N"]):
    for i in range(M):
        for j in range(N):
            rows[i] += a[i, j]
    for i in range(M):
        for j in range(N):
            columns[j] += 2 * a[i, j]


def arguments(m=40, n=48):
    a = np.random.default_rng(3).integers(-9, 9, (m, n))
    return a, np.ones(m, np.int64), np.ones(n, np.int64)


def check(args):
    a, rows, columns = args
    assert (rows == 1 + a.sum(1)).all() and (columns == 1 + 2 * a.sum(0)).all()


@pytest.mark.parametrize("name", ["cpu", "interp"])
def test_calls_use_the_schedule(name, monkeypatch):
    nest = compute(sums.function)
    with gridlane.device(name):
        args = arguments()
        tuning = nest.tune(*args, seconds=300, most=4)
        assert len(tuning.trials) == 4 and tuning.plain.candidate.named["order"] == CHOSEN
        assert all(each.state is State.MEASURED for each in tuning.trials)
        assert (args[1] == 1).all() and (args[2] == 1).all()
        used = []
        for variant in {*nest._tuned.values()}:
            run = type(variant)._run_untuned
            monkeypatch.setattr(
                variant, "_run_untuned", lambda a, v=variant: (used.append(v), run(v, a)), False
            )
        nest(*args)
        check(args)
        others = arguments(9, 7)  # of another class
        nest(*others)
        check(others)
        near = arguments(56, 40 + 16)
        nest(*near)
        check(near)
    best = next(iter(nest._tuned.values()))
    assert len(used) == (0 if best is nest else 1)


def test_every_candidate_is_right():
    """As loops say, whichever wins: exact, as sums of integers have any order."""
    nest = compute(sums.function)
    variants = Variants(nest, rates_of(nest), 60.0)
    assert len(variants.orders) >= 2 and len(variants.space.candidates) > 20
    for candidate in variants.space.candidates[::17]:
        args = arguments(37, 70)
        variants.of(candidate)._run_untuned(args)
        check(args)


def test_the_library_is_a_candidate():
    @compute
    def product(a: Tensor[f32, "M", "K"], b: Tensor[f32, "K", "N"], out: Tensor[f32, "M", "N"]):
        for i, j in grid(M, N):
            s = 0.0
            for k in range(K):
                s += a[i, k] * b[k, j]
            out[i, j] = s

    rng = np.random.default_rng(1)
    a, b = rng.random((64, 64), np.float32), rng.random((64, 64), np.float32)
    out = np.zeros((64, 64), np.float32)
    tuning = product.tune(a, b, out, seconds=300, most=3, tolerance=1e-5)
    orders = {each.candidate.named["order"] for each in tuning.trials}
    assert CHOSEN in orders and len(orders) > 1 and not out.any()
    product(a, b, out)
    assert np.allclose(out, a @ b, rtol=1e-5)


def test_schedules_by_hand_keep_their_order():
    @compute
    def scaled(x: Tensor[f64, "M", "N"], out: Tensor[f64, "M", "N"]):
        for i in range(M):
            for j in range(N):
                out[i, j] = 2 * x[i, j]

    hand = scaled.schedule("i", "j", threads=("j", "i"))
    x, out = np.random.rand(30, 20), np.zeros((30, 20))
    tuning = hand.tune(x, out, seconds=300)
    assert {each.candidate.named["order"] for each in tuning.trials} == {CHOSEN}
    hand(x, out)
    assert (out == 2 * x).all()


def test_wrong_uses():
    a, rows, columns = arguments()
    with pytest.raises(TuningError, match="seconds=0"):
        sums.tune(a, rows, columns, seconds=0)
    with pytest.raises(ArgumentError, match=r"sums\(\) has 3 arguments"):
        sums.tune(a, rows)
    with pytest.raises(ArgumentError, match="N is"):
        sums.tune(a, rows, rows)
    mixed = compute(compile_target="heterogeneous")(sums.function)
    with pytest.raises(TuningError, match="heterogeneous"):
        mixed.tune(a, rows, columns)

    @compute
    def copied(x: Tensor[f64, "N"], y: Tensor[f64, "N"]):
        for i in range(N):
            y[i] = x[i]

    x = np.zeros(8)
    with pytest.raises(TuningError, match="arrays share memory"):
        copied.tune(x, x)


def test_subjects():
    """What is written and not read is an output; the class and the source tell nests apart."""

    @compute
    def copied(x: Tensor[f64, "N"], y: Tensor[f64, "N"]):
        for i in range(N):
            y[i] = x[i]

    subject = NestSubject(Variants(copied, rates_of(copied), 60.0), (np.zeros(8), np.zeros(8)))
    assert subject.outputs == {1} and subject.shapes == "float64[8/8], float64[8/8]"
    other = NestSubject(Variants(sums, rates_of(sums), 60.0), arguments())
    assert not other.outputs and other.source != subject.source
