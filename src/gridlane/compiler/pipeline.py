"""Run the passes of a backend's record over a module."""

from __future__ import annotations

from collections.abc import Container

from gridlane.backends import backend
from gridlane.backends.passes import name_of
from gridlane.backends.record import Backend, Condition, Fact, Pass, loaded
from gridlane.codegen.emitters import emitted
from gridlane.compiler import recording
from gridlane.core.config import config
from gridlane.core.errors import TargetError
from gridlane.core.features import Feature
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.op import REGISTRY, Op
from gridlane.ir.values import Module
from gridlane.passes.tiles import has_tiles


def features_of(target: Target) -> frozenset[Feature]:
    """The features that a target names, or its backend's default ones.

    Raises:
        TargetError: a feature that devices of the backend do not have.
    """
    record = backend(target.name)
    unknown = sorted(target.features - record.features)
    if unknown:
        known = " ".join(sorted(record.features)) or "none"
        raise TargetError(
            f"{str(unknown[0])!r} is no feature of {record.title}; there are {known}; what devices "
            f"report must be in `features` of the record of {record.name}"
        )
    return target.features or record.usual


def conditions(target: Target, options: KernelOptions, *machine: Fact) -> frozenset[Condition]:
    """The conditions of a compilation: features, options, and facts of the processor."""
    given: set[Condition] = {*features_of(target), *machine}
    if options.opt:
        given.add(Fact.OPTIMISED)
        # A debugged program may index outside its arrays, which narrowed indices assume it does
        # not.
        if target.variant.compact and not (options.debug or options.check):
            given.add(Fact.COMPACT)
            if target.variant.coarse:
                given.add(Fact.COARSE)
    if options.check:
        given.add(Fact.CHECKED)
    if options.own_functions:
        given.add(Fact.OWN_FUNCTIONS)
    return frozenset(given)


def run(
    module: Module,
    record: Backend,
    given: Container[str] = frozenset(),
    options: KernelOptions = KernelOptions(),  # noqa: B008  # frozen
) -> tuple[str, ...]:
    """Run a backend's passes; with GRIDLANE_VERIFY=1 the IR is verified after each.

    Args:
        given: the conditions that hold.

    Returns:
        Notes for the user on code that differs from the source.

    Raises:
        TargetError: an op that the target lacks remains.
    """
    legal = record.legal_ops(given)
    if not record.passes_by_value and any(each.by_value for each in module.kernel.params):
        raise TargetError(f"the {record.name} target has no parameters that are passed by value")
    # Checked before the passes run: no pass can legalise these.
    _require_legal(module, record, legal, only=record.reasons)
    try:
        notes = _run(module, record, given, options)
    except TargetError as error:
        raise _named(error, record.name) from None
    _require_legal(module, record, legal)
    return notes


def require_expandable(module: Module, record: Backend) -> None:
    """Require that a backend refuses none of the ops that expand into others.

    Raises:
        TargetError: it refuses one.
    """
    refused = {name for name in record.reasons if name in REGISTRY and REGISTRY[name].expands}
    if not refused:
        return
    ops = (op for function in module.functions.values() for op in function.body.walk())
    found = [op for op in ops if op.name in refused]
    if found:
        names = ", ".join(dict.fromkeys(op.name for op in found))
        why = "; ".join(dict.fromkeys(record.reasons[op.name] for op in found))
        raise TargetError(f"the {record.name} target has no {names}: {why}", found[0].loc)


def _run(
    module: Module, record: Backend, given: Container[str], options: KernelOptions
) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    for each in record.pipeline:
        if each.applies(given):
            notes += apply(module, each, record, options)
    return notes


def apply(
    module: Module, each: Pass, record: Backend | None, options: KernelOptions
) -> tuple[str, ...]:
    """Run one pass, and verify its result with GRIDLANE_VERIFY=1.

    Args:
        record: the target's; None is enough for a pass without ``facts``.

    Returns:
        Notes for the user.
    """
    arguments = (
        *map(loaded, each.arguments),
        *(loaded(fact)(record) for fact in each.facts),
        *(getattr(options, option) for option in each.options),
    )
    notes: tuple[str, ...] = loaded(each.path)(module, *arguments) or ()
    if recording.active():
        recording.record_ir(name_of(each), module)
    if config().verify:
        from gridlane.ir.stages import KERNEL, TILE
        from gridlane.ir.verifier import verify

        # The passes in front of the pipelines see programs over tiles.
        verify(module, TILE if has_tiles(module) else KERNEL)
    return notes


def emitted_for(record: Backend) -> frozenset[type[Op]]:
    """The op classes that the code generator of a backend emits."""
    dialect = record.dialects[0].path if record.dialects else ""
    return emitted(record.codegen, dialect) if record.codegen else frozenset(REGISTRY.values())


def _named(error: TargetError, target: str) -> TargetError:
    """The error of a pass with the target's name in place of "the target"."""
    message = error.message.replace("the target", f"the {target} target")
    if target not in message:
        message = f"{target}: {message}"
    return TargetError(message, error.loc, error.related)


def _require_legal(
    module: Module, record: Backend, legal: Container[str], only: Container[str] | None = None
) -> None:
    """Require that a backend supports the ops of a module, or those in ``only``."""
    ops = (op for function in module.functions.values() for op in function.body.walk())
    for op in ops:
        if op.name not in legal and (only is None or op.name in only):
            reason = record.reasons.get(op.name)
            why = f": {reason}" if reason else ""
            raise TargetError(f"the {record.name} target has no {op.name}{why}", op.loc)
