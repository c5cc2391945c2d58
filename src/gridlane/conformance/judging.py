"""Judge a case on a device: how its code generator received the op, and whether the result is
right.

How is read off the IR. An op is native where all its forms, with their types and kinds, remain
after the target's passes: the code generator supports it. It is legalised where none remains:
passes have expanded it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from enum import Enum, Flag
from functools import cache

import numpy as np

from gridlane.backends import backend
from gridlane.compiler.generation import lowered, runs_in_parts
from gridlane.conformance.cases import Case
from gridlane.conformance.compiling import through_cache
from gridlane.conformance.flushing import FLUSHED, flush, flushed, may_flush
from gridlane.conformance.functions import NAMES, allowed, distance
from gridlane.conformance.kernels import elementwise
from gridlane.conformance.module_runner import EXACT, Outcome, assert_same, run_artifact, run_on
from gridlane.conformance.suite import lack
from gridlane.core.artifact import Artifact
from gridlane.core.dtypes import DType, i32
from gridlane.core.errors import CompileError, DeviceError, TargetError
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.source import ModuleSource
from gridlane.ir.types import PointerType
from gridlane.ir.values import Module
from gridlane.runtime.protocol import Device


class How(Enum):
    """How a device supports an op."""

    NATIVE = "native"
    PARTLY = "native in part"
    LEGALISED = "legalised"
    REFUSED = "refused"
    OTHERWISE = "undefined by the hardware"


@frozen
class Judgement:
    """The judgement of a case on a device.

    Attributes:
        says: the reason of the refusal, or the exception to a right result.
        wrong: the defect, or "".
    """

    op: str
    case: str
    how: How
    says: str = ""
    wrong: str = ""


AT_ONCE = 48
"""The number of cases that are compiled ahead together."""


def judgements(cases: Sequence[Case], device: Device) -> Iterator[Judgement]:
    """Judge cases."""
    for start in range(0, len(cases), AT_ONCE):
        some = cases[start : start + AT_ONCE]
        _compile_ahead(some, device)
        yield from (judged(case, device) for case in some)


def _compile_ahead(cases: Sequence[Case], device: Device) -> None:
    """Pass the texts of cases to a device, if compiling them together saves time."""
    give: Callable[[list[str]], None] | None = getattr(device, "compile_ahead", None)
    if give is None:
        return
    sources: list[str] = []
    for case in cases:
        with suppress(CompileError):  # judged finds it again
            artifact, _ = lowered(case.module, device.target(case.block), EXACT)
            sources.append(artifact.code.decode())
    give(sources)


def judged(case: Case, device: Device) -> Judgement:
    """Judge a case."""
    target = device.target(case.block)
    name, refused = str(case), lack(case, target.name)
    undefined = backend(target.name).undefined.get(name)
    if undefined is not None:
        return Judgement(case.op, name, How.OTHERWISE, undefined)
    if runs_in_parts(case.module, backend(target.name)):
        return Judgement(case.op, name, How.LEGALISED, wrong=_in_parts(case, device))
    try:
        artifact, final = lowered(case.module, target, EXACT)
    except TargetError as error:
        if refused is not None and refused.says in error.message:
            return Judgement(case.op, name, How.REFUSED, refused.says)
        return Judgement(case.op, name, How.REFUSED, wrong=f"is refused: {error.message}")
    except CompileError as error:
        return Judgement(case.op, name, How.REFUSED, wrong=error.message)
    artifact = through_cache(device, ModuleSource(case.module), target, EXACT, artifact)
    how = _how(case, final)
    if refused is not None:
        return Judgement(case.op, name, how, wrong=f"is not refused: {refused.says}")
    wrong = _tried(case, device, artifact)
    if wrong and may_flush(target.name, case.op):
        other = flushed(case)
        again, _ = lowered(other.module, target, EXACT)
        rest = _tried(other, device, again, flush)
        if not rest:
            return Judgement(case.op, name, how, FLUSHED)
        wrong += f"; without subnormal numbers {rest}"
    return Judgement(case.op, name, how, wrong=wrong)


def _in_parts(case: Case, device: Device) -> str:
    """The difference from the interpreter of a case that is launched in parts, or ""."""
    arrays = [np.array(array) for array in case.arrays]
    try:
        got = run_on(device, case.module, case.grid, case.block, arrays, (), case.shared)
    except (CompileError, DeviceError) as error:
        return str(error)
    return _difference(case, got, device.target(case.block).name, np.asarray)


def _tried(
    case: Case,
    device: Device,
    artifact: Artifact,
    seen: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> str:
    """The difference from the interpreter, or ""; of arrays as they are ``seen``."""
    launch = (case.grid, case.block, [np.array(array) for array in case.arrays], (), case.shared)
    try:
        got = run_artifact(device, artifact, *launch)
    except DeviceError as error:
        return str(error)
    return _difference(case, got, device.target(case.block).name, seen)


def _how(case: Case, final: Module) -> How:
    """The support of an op, from its forms that remain after the passes."""
    asked, kept = forms(case.module, case.op), forms(final, case.op)
    asked = asked - _common(case.op) or asked
    if asked <= kept:
        return How.NATIVE
    return How.PARTLY if asked & kept else How.LEGALISED


@cache
def _common(name: str) -> frozenset[tuple[object, ...]]:
    """Forms that an op has in every kernel, in addresses and bounds."""
    module, _ = elementwise([i32], lambda b, value: [value], 1)
    return frozenset(forms(module, name))


def _difference(
    case: Case, got: Outcome, target: str, seen: Callable[[np.ndarray], np.ndarray]
) -> str:
    launch = (case.module, case.grid, case.block, case.arrays, (), case.shared)
    wanted = run_on("interp", *launch)
    if got.raised != wanted.raised:
        return f"raised: {got.raised}, not {wanted.raised}"
    got, wanted = (Outcome([seen(a) for a in each.arrays]) for each in (got, wanted))
    if case.op in NAMES:
        return _too_far(case, got, wanted, target)
    try:
        assert_same(got.arrays, wanted.arrays, case.labels)
    except AssertionError as error:
        return str(error)
    return ""


def _too_far(case: Case, got: Outcome, wanted: Outcome, target: str) -> str:
    """The difference of a function that need not be exact."""
    ulp = distance(got.arrays[-1], wanted.arrays[-1])
    type_ = case.module.kernel.params[-1].value.type
    assert isinstance(type_, PointerType) and isinstance(type_.element, DType)
    limit, worst = allowed(target, case.op, type_.element), int(ulp.argmax())
    return f"{ulp[worst]:.0f} ulp off, not {limit}" if ulp[worst] > limit else ""


def forms(module: Module, name: str) -> set[tuple[object, ...]]:
    """The kinds of an op that a module has, with types."""
    ops = (op for function in module.functions.values() for op in function.body.walk())
    return {_form(op) for op in ops if op.name == name}


def _form(op: Op) -> tuple[object, ...]:
    values = (getattr(op, name) for name, _, _ in op.LAYOUT)
    kinds = tuple(v for v in values if isinstance(v, Enum) and not isinstance(v, Flag))
    return (*kinds, *(str(value.type) for value in (*op.operands(), *op.results)))
