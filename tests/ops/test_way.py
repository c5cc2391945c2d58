"""Cases of ops take the way of users' kernels: source, compile service, disk cache."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.devices import DEVICES, run_on

from gridlane import compiler
from gridlane.compiler.cache import DiskCache
from gridlane.conformance import compiling
from gridlane.conformance.compiling import compiled, through_cache
from gridlane.conformance.module_runner import EXACT
from gridlane.conformance.suite import cases
from gridlane.core.argtypes import float64, int64
from gridlane.core.encoding import decode
from gridlane.frontends.python.kernel_source import PythonSource
from gridlane.ir.parser import parse_module
from gridlane.ir.source import ModuleSource
from gridlane.launch.devices import get_device

CASE = next(case for case in cases() if str(case) == "add-i32")


def kernel(out, n):
    for i in range(n):
        out[i] += 1


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "source, types",
    [(ModuleSource(CASE.module), ()), (PythonSource(kernel), (float64[::1], int64))],
    ids=["ir", "python"],
)
def test_each_kind_of_source_on_each_device(device, source, types):
    opened = get_device(device)
    target = opened.target(CASE.block)
    artifact = compiled(source, types, EXACT, target, opened)
    assert artifact.target == target.name and source.name in artifact.entry
    assert len(source.parameters) == len(artifact.params if not types else types)
    opened.load(artifact)


def test_a_cache_that_changes_something_is_seen(monkeypatch):
    opened = get_device("cpu")
    plain = DiskCache.get

    def changed(self, key):
        found = plain(self, key)
        return found and replace(found, work=found.work + 1)

    launch = CASE.module, CASE.grid, CASE.block, CASE.arrays
    monkeypatch.setattr(DiskCache, "get", changed)
    with pytest.raises(AssertionError, match="gives back another artifact"):
        run_on("cpu", *launch)
    monkeypatch.setattr(DiskCache, "get", lambda self, key: None)
    with pytest.raises(AssertionError, match="has lost the code"):
        run_on("cpu", *launch)
    monkeypatch.undo()
    source, target = ModuleSource(CASE.module), opened.target(CASE.block)
    made = compiler.generate(CASE.module, target, EXACT)
    assert through_cache(opened, source, target, EXACT, made) == made
    assert len(run_on("cpu", *launch).arrays) == len(CASE.arrays)


def test_a_cold_cache_is_cold():
    """Code of an earlier case, or of another version of the compiler, is not what is tried."""
    opened, source = get_device("interp"), ModuleSource(CASE.module)
    target = opened.target(CASE.block)
    compiled(source, (), EXACT, target, opened)
    stats = compiling._cache().stats()
    compiled(source, (), EXACT, replace(target, identity="other"), opened)
    assert compiling._cache().stats() == stats and stats.entries == 1


def test_a_module_is_its_text():
    source = ModuleSource(CASE.module)
    *_, text = decode(source.key())
    again = ModuleSource(parse_module(text))
    assert again.key() == source.key()
    assert len({ModuleSource(case.module).key() for case in cases()[:300]}) == 300
    assert source.translate((), EXACT) is CASE.module
