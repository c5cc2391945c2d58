"""Runs a module before and after a pass on the interpreter, and says what types it holds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from tests.devices import assert_same, run_on
from tests.effort import NIGHTLY

from gridlane.ir.op import Op
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.types import Type
from gridlane.ir.values import Module, Value
from gridlane.ir.verifier import verify
from gridlane.passes.legalise.expand_ops import expand_ops

WORD = 4

ANSWERS: dict[bytes, list[np.ndarray]] = {}
"""What the interpreter says of modules before a pass: one case goes through many passes."""


def tried(cases: Sequence[Any]) -> list[Any]:
    """A third of each op's cases in each run, all in the nightly one: the devices that passes are
    for run every case, in tests/ops."""
    if NIGHTLY:
        return list(cases)
    by_op: dict[str, list[Any]] = {}
    for case in cases:
        by_op.setdefault(case.op, []).append(case)
    return [case for of_op in by_op.values() for case in of_op[::3]]


def copied(module: Module) -> Module:
    """A copy, through the text."""
    return parse_module(print_module(module))


def roomy(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The arrays as bytes of whole words: a pass may access the word that an element is in."""
    made = []
    for array in arrays:
        octets = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        room = np.zeros(-(-octets.size // WORD) * WORD, np.uint8)
        room[: octets.size] = octets
        made.append(room)
    return made


def facts(case) -> tuple[tuple, int]:
    """Scalar arguments, and bytes of shared memory in whole words."""
    return tuple(getattr(case, "scalars", ())), -(-getattr(case, "shared", 0) // WORD) * WORD


def run(module: Module, case) -> list[np.ndarray]:
    """The arrays after a run, and whether the kernel raised as the last one."""
    scalars, shared = facts(case)
    outcome = run_on("interp", module, case.grid, case.block, roomy(case.arrays), scalars, shared)
    made = []
    for array, octets in zip(case.arrays, outcome.arrays, strict=True):
        made.append(octets[: array.nbytes].view(array.dtype).reshape(array.shape))
    return [*made, np.array([outcome.raised])]


def check(case, change: Callable[[Module], None]) -> Module:
    """Apply a pass, behind the expansion of ops, as targets do; the result is valid and gives the
    same answer. The changed module."""
    text = print_module(case.module)
    changed = parse_module(text)
    key = hashlib.sha256(text.encode())
    for array in case.arrays:
        key.update(repr((array.dtype, array.shape)).encode() + array.tobytes())
    key.update(repr((case.grid, case.block, *facts(case))).encode())
    wanted = ANSWERS.get(key.digest())
    if wanted is None:
        wanted = ANSWERS[key.digest()] = run(case.module, case)
    expand_ops(changed, frozenset())
    change(changed)
    try:
        verify(changed)
        if NIGHTLY or key.digest()[0] % 4 == 0:  # what passes make reads back
            assert print_module(parse_module(print_module(changed))) == print_module(changed)
        assert_same(run(changed, case), wanted, [*case.labels, "raised"])
    except AssertionError as error:
        raise AssertionError(f"{error}\n{text}\n--- changed ---\n{print_module(changed)}") from None
    return changed


def ops_of(module: Module) -> Iterator[Op]:
    """Every op of every function."""
    for function in module.functions.values():
        yield from function.body.walk()


def values_of(op: Op) -> Iterator[Value]:
    """What an op takes and gives."""
    yield from op.operands()
    yield from op.results


def types_in(module: Module) -> set[Type]:
    """The types of all values, variables and parameters."""
    found: set[Type] = {value.type for op in ops_of(module) for value in values_of(op)}
    for function in module.functions.values():
        found |= {var.type for var in function.variables}
        found |= {param.value.type for param in function.params}
    return found
