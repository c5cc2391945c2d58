"""Passes: text in, text out. A file holds the input, a line of dashes, and what must come out."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.stages import CFG
from gridlane.ir.verifier import verify
from gridlane.passes.legalise.flush_by_mode import flush_by_mode
from gridlane.passes.optimise.fold_signs import fold_signs
from gridlane.passes.optimise.promote import promote_variables
from gridlane.passes.optimise.whole_divisions import divide_whole
from gridlane.passes.structure.branch_out_of_scopes import branch_out_of_scopes
from gridlane.passes.structure.inline import inline_calls
from gridlane.passes.structure.return_last import DEEPEST, MOST_COPIED, return_last
from gridlane.passes.structure.structurize import structurize

PASSES = {
    "branch": branch_out_of_scopes,
    "flush": flush_by_mode,
    "fold": fold_signs,
    "inline": inline_calls,
    "promote": promote_variables,
    "return": return_last,
    "structurize": structurize,
    "whole": divide_whole,
}
FILES = sorted(Path(__file__).parent.glob("*.txt"))


def normal(text: str) -> str:
    """A module's text with the printer's own names and spacing."""
    return print_module(parse_module(text)).strip()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_pass(path: Path) -> None:
    before, wanted = path.read_text().split("\n----\n")
    module = parse_module(before)
    verify(module, CFG)
    PASSES[path.stem.split("-")[0]](module)
    verify(module)
    assert print_module(module).strip() == normal(wanted)


def test_every_pass_has_a_file() -> None:
    assert {path.stem.split("-")[0] for path in FILES} == set(PASSES)


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
