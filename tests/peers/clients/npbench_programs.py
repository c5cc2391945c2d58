"""Each program of npbench as a test: its version for NumPy with gridlane.xp in NumPy's place.

``xp_suites`` runs it; ``NPBENCH`` names the checkout. The arguments are those of the size ``S``,
and the results are compared with those of NumPy.
"""

from __future__ import annotations

import copy
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.peers.clients.xp_alias import Alias

from gridlane import xp

ROOT = Path(os.environ["NPBENCH"])
LIMITS = {"nbody": 1e-6}
"""The relative difference from NumPy's results where it is not 1e-9: close passes amplify the
rounding of a step."""
FACTS = {each.stem: each for each in sorted(ROOT.glob("bench_info/*.json"))}


@pytest.fixture(autouse=True)
def _modules() -> Iterator[None]:
    sys.path.insert(0, str(ROOT))
    yield
    sys.path.remove(str(ROOT))


def _module(facts: dict[str, Any], numpy: ModuleType) -> ModuleType:
    """The program with a module in the place of NumPy's."""
    folder = ROOT / "npbench/benchmarks" / facts["relative_path"]
    file = folder / f"{facts['module_name']}_numpy.py"
    module = ModuleType(file.stem)
    kept = sys.modules["numpy"]
    sys.modules["numpy"] = numpy
    try:
        exec(compile(file.read_text(), str(file), "exec"), module.__dict__)
    finally:
        sys.modules["numpy"] = kept
    return module


def _arguments(facts: dict[str, Any]) -> dict[str, Any]:
    names = dict(facts["parameters"]["S"])
    init = facts.get("init")
    if init:
        folder = f"npbench.benchmarks.{facts['relative_path'].replace('/', '.')}"
        exec(f"from {folder}.{facts['module_name']} import {init['func_name']}", names)
        call = f"{init['func_name']}({', '.join(init['input_args'])})"
        exec(f"{', '.join(init['output_args'])} = {call}", names)
    return {name: names[name] for name in facts["input_args"]}


def _results(facts: dict[str, Any], numpy: ModuleType, arguments: dict[str, Any]) -> list[Any]:
    returned = getattr(_module(facts, numpy), facts["func_name"])(*arguments.values())
    found = list(returned) if isinstance(returned, tuple) else [returned]
    return [*(each for each in found if each is not None), *_outputs(facts, arguments)]


def _outputs(facts: dict[str, Any], arguments: dict[str, Any]) -> list[Any]:
    return [arguments[name] for name in facts["output_args"]]


def _on_device(value: Any) -> Any:
    return xp.asarray(value) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("name", FACTS)
def test_program(name: str) -> None:
    facts = json.loads(FACTS[name].read_text())["benchmark"]
    arguments = _arguments(facts)
    ours = {each: _on_device(value) for each, value in copy.deepcopy(arguments).items()}
    with np.errstate(all="ignore"):
        wanted = _results(facts, np, arguments)
    found = _results(facts, Alias("numpy"), ours)
    assert len(found) == len(wanted)
    for mine, theirs in zip(found, wanted, strict=True):
        theirs = np.asarray(theirs)
        mine = np.asarray(mine)
        assert mine.shape == theirs.shape
        assert mine.dtype.kind == theirs.dtype.kind
        single = theirs.dtype in (np.float32, np.complex64)
        limit = 1e-4 if single else LIMITS.get(name, 1e-9)
        np.testing.assert_allclose(
            mine, theirs, rtol=limit, atol=limit * np.max(np.abs(theirs), initial=0)
        )
