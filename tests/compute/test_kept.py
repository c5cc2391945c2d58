# ruff: noqa: F821  # extents are names that annotations define
"""Chosen orders on disk: those of an equal nest are read, those of others and damaged ones not."""

from dataclasses import replace

import numpy as np
import pytest
from tests.compute.polybench import PROGRAMS

import gridlane
from gridlane.compiler.cache import DiskCache
from gridlane.compute import Compute, Tensor, choosing, compute, f32, f64, kept
from gridlane.compute.strides import GPU, PROCESSOR
from gridlane.core.artifact import Artifact


@pytest.fixture
def store(tmp_path, monkeypatch):
    made = DiskCache(tmp_path / "cache")
    monkeypatch.setattr(kept, "default_cache", lambda: made)
    return made


@pytest.fixture
def counted(monkeypatch):
    calls = []

    def choose(*args):
        calls.append(args)
        return choosing.choose(*args)

    monkeypatch.setattr(kept, "choose", choose)
    return calls


def fresh(name="lu", **options):
    return Compute(PROGRAMS[name].nest.function, **options)


@pytest.mark.parametrize("name", ["lu", "gramschmidt", "durbin", "mvt"])
@pytest.mark.parametrize("rates", [PROCESSOR, GPU, replace(PROCESSOR, sums=True)])
def test_what_is_read_is_what_was_chosen(name, rates, store, counted):
    one = fresh(name)
    wanted, text = kept.chosen(one._polyhedra, one._typing, rates)
    other = fresh(name)
    emitted, again = kept.chosen(other._polyhedra, other._typing, rates)
    assert len(counted) == 1 and again == text
    assert emitted.order.map.is_equal(wanted.order.map)
    assert replace(emitted, order=wanted.order, small=None) == replace(wanted, small=None)
    assert (emitted.small is None) == (wanted.small is None)
    if wanted.small is not None:
        assert replace(emitted.small, order=wanted.small.order) == wanted.small


def test_results_are_the_same(store, counted):
    program = PROGRAMS["lu"]
    for _ in range(2):
        with gridlane.device("cpu"):
            values = program.inputs((70,))
            wanted = program.oracle(values) if hasattr(program, "oracle") else None
            plain = {name: value.copy() for name, value in values.items()}
            fresh()(*values.values())
            fresh().plain(*plain.values())
        assert (values["a"] == plain["a"]).all() and (values["a"] != 0).any()
        assert wanted is None or np.allclose(values["a"], wanted["a"])
    assert len(counted) == 1


def nest(kind, bound, by):
    @compute
    def moved(x: Tensor[kind, "N"], out: Tensor[kind, "N"]):
        for i in range(bound):
            out[i] = x[i] * by

    return moved


def test_other_nests_are_not_those(store, counted):
    nests = [
        nest(f64, 4, 2), nest(f32, 4, 2), nest(f64, 5, 2), nest(f64, 4, 2.0), nest(f64, 4, True),
        nest(f64, 4, -0.0), nest(f64, 4, 0.0), nest(f64, 4, 3),
    ]  # fmt: skip
    for number, each in enumerate(nests, 1):
        kept.chosen(each._polyhedra, each._typing, PROCESSOR)
        assert len(counted) == number
    kept.chosen(nests[0]._polyhedra, nests[0]._typing, replace(PROCESSOR, sums=True))
    assert len(counted) == len(nests) + 1
    for each in nests:
        kept.chosen(each._polyhedra, each._typing, PROCESSOR)
    assert len(counted) == len(nests) + 1


@pytest.mark.parametrize(
    "code", [b"", b"[]", b"[{}, 1]", b'[{"kernels": [1]}, ""]', b"\xff", b"[[], []]", b"{" * 9000]
)
def test_entries_of_another_making(code, store, counted):
    made = nest(f64, 4, 2)
    wanted, _ = kept.chosen(made._polyhedra, made._typing, PROCESSOR)
    (file,) = [each for each in store.root.iterdir() if each.name.endswith(".kernel2")]
    key = file.name.removesuffix(".kernel2")
    store.put(key, Artifact("compute", "orders", code, "moved", (), 0))
    emitted, _ = kept.chosen(made._polyhedra, made._typing, PROCESSOR)
    assert len(counted) == 2 and emitted.kernels == wanted.kernels
    file.write_bytes(file.read_bytes()[:-3])
    kept.chosen(made._polyhedra, made._typing, PROCESSOR)
    assert len(counted) == 3
    kept.chosen(made._polyhedra, made._typing, PROCESSOR)
    assert len(counted) == 3


def test_without_a_cache(monkeypatch, counted):
    monkeypatch.setattr(kept, "default_cache", lambda: None)
    made = nest(f64, 4, 2)
    for _ in range(2):
        kept.chosen(made._polyhedra, made._typing, PROCESSOR)
    assert len(counted) == 2


def test_limits_are_explained(monkeypatch):
    limits = {"MOST_FOR_TILES": "more than 10 operations", "MOST_FOR_KEEPS": "to check them"}
    for name, limit in limits.items():
        one = fresh("jacobi-1d")
        with monkeypatch.context() as patched:
            patched.setattr(choosing, name, 10)
            emitted, text = choosing.choose(one._polyhedra, one._typing, PROCESSOR)
        assert limit in text and not emitted.order.tiles
    one = fresh("jacobi-1d")
    emitted, text = choosing.choose(one._polyhedra, one._typing, PROCESSOR)
    assert emitted.order.tiles and "needs more" not in text
