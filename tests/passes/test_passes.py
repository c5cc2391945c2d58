"""Passes: text in, text out. A file holds the command, the input, a line of dashes, and what must
come out."""

from __future__ import annotations

import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest

import gridlane.passes
from gridlane.backends.passes import by_name
from gridlane.cli.optimising import Request, apply_passes, chosen_passes
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.stages import FIRST, TILE
from gridlane.ir.verifier import verify
from gridlane.passes.structure.return_last import DEEPEST, MOST_COPIED, return_last

COMMAND = re.compile(r"// gridlane opt --passes (\S+)(?: --target (\S+))?(?: --fp64 (\S+))?\n")
NO_PASSES = {
    "call_instead": "a tool of passes",
    "compute_exactly": "a way of float64",
    "compute_in_pairs": "a way of float64",
    "compute_narrowly": "a way of float64",
    "heed_requests": "rewrites a function that the caller names",
    "inline_into": "a tool of passes",
    "prepare": "a part of fusion",
    "settle_maps": "a part of fusion",
    "simplify": "a part of fusion",
}
FILES = sorted(Path(__file__).parent.glob("*.txt"))


def normal(text: str) -> str:
    """A module's text with the printer's own names and spacing."""
    return print_module(parse_module(text)).strip()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_pass(path: Path) -> None:
    before, wanted = path.read_text().split("\n----\n")
    command = COMMAND.match(before)
    assert command, f"{path.name} does not begin with a command like // gridlane opt --passes A,B"
    passes, target, fp64 = command.groups()
    module = parse_module(before)
    verify(module, FIRST)
    chosen = chosen_passes(Request(str(path), passes, target))
    apply_passes(module, chosen, target, fp64 or "exact")
    verify(module, TILE)
    assert print_module(module).strip() == normal(wanted)


def test_the_registry_has_every_pass() -> None:
    """A public function of a module in ``passes/`` that returns nothing, or notes, is a pass."""
    known = {each.path for each in by_name().values()}
    missing: set[str] = set()
    for found in pkgutil.walk_packages(gridlane.passes.__path__, "gridlane.passes."):
        for name, value in vars(import_module(found.name)).items():
            own = inspect.isfunction(value) and value.__module__ == found.name
            if not own or name.startswith("_") or f"{found.name}.{name}" in known:
                continue
            signature = inspect.signature(value)
            first = next(iter(signature.parameters.values()), None)
            rewrites = signature.return_annotation in ("None", "tuple[str, ...]")
            if first is not None and first.annotation == "Module" and rewrites:
                missing.add(name)
    assert missing == set(NO_PASSES)


def test_returns_nest_to_a_limit() -> None:
    early = "  if %c {\n    return\n  }\n  store %p, %n\n"
    text = f"kernel @k(%p: ptr<i32, global>, %c: b1, %n: i32) {{\n{early * 40}}}\n"
    module = parse_module(text)
    return_last(module)
    verify(module)
    returns = sum(type(op).name == "return" for op in module.kernel.body.walk())
    assert returns == 40 - DEEPEST


def test_returns_of_long_kernels_stay() -> None:
    early, many = "  if %c {\n    return\n  }\n", "  store %p, %n\n" * MOST_COPIED
    text = f"kernel @k(%p: ptr<i32, global>, %c: b1, %n: i32) {{\n{early}{many}}}"
    module = parse_module(text)
    return_last(module)
    assert print_module(module).strip() == normal(text)
