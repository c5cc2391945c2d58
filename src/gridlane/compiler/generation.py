"""Translate a Python function to IR, and generate the code of each target from IR."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

from gridlane.analysis.grid_barriers import syncs_grid
from gridlane.backends import backend, passes
from gridlane.backends.record import Backend, Pass
from gridlane.compiler import pipeline, recording
from gridlane.compiler.depth import at_any_depth
from gridlane.compiler.local_memory import check_local_memory
from gridlane.core.argtypes import ArgType
from gridlane.core.artifact import Artifact
from gridlane.core.config import config
from gridlane.core.decisions import Decision, collecting
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions, Target
from gridlane.core.source import UNKNOWN
from gridlane.frontends.python.kernel_source import PythonSource
from gridlane.ir.op import clone_region
from gridlane.ir.printer import print_module
from gridlane.ir.source import KernelSource
from gridlane.ir.values import Function, Module, Value, Var

if TYPE_CHECKING:
    from gridlane.passes.structure.grid_parts import GridParts


def translate(
    source: KernelSource | FunctionType, arguments: tuple[ArgType, ...], options: KernelOptions
) -> Module:
    """The IR of a kernel for argument types.

    Raises:
        CompileError: the kernel is outside the dialect or its types do not fit; located.
    """
    if isinstance(source, FunctionType):
        source = PythonSource(source)
    module = at_any_depth(source.name, UNKNOWN, source.translate, arguments, options)
    if "ir" in config().dump:
        print(print_module(module), file=sys.stderr)
    return module


def generate(
    module: Module,
    target: Target,
    options: KernelOptions = KernelOptions(),  # noqa: B008  # frozen
) -> Artifact:
    """Code for a target. The module is left unchanged.

    Raises:
        CompileError: the target does not support an op of the kernel; located.
    """
    return lowered(module, target, options)[0]


def lowered(module: Module, target: Target, options: KernelOptions) -> tuple[Artifact, Module]:
    """Code for a target, and the IR that its code generator was given.

    Raises:
        CompileError: as generate.
    """
    kernel = module.kernel
    return at_any_depth(kernel.name, kernel.loc, _lowered, module, target, options)


def _lowered(module: Module, target: Target, options: KernelOptions) -> tuple[Artifact, Module]:
    record = backend(target.name)
    with _recorded(module, target, options) as given:
        check_local_memory(given)
        changed = _expanded(given, record) if record.pipeline else given
        return generator(record).generate(changed, target, options), changed


@contextmanager
def _recorded(module: Module, target: Target, options: KernelOptions) -> Generator[Module]:
    """Record a compilation; the module that it starts from, which a file may have replaced."""
    if recording.active():
        module = copied(module)
    with recording.recorded(module, target, options):
        yield module


def launchable(module: Module, target: Target, options: KernelOptions) -> Artifact:
    """What ``launch.Kernel`` launches: code, or the plan of a kernel that is split at its barriers
    of the grid, which the target lacks.

    Raises:
        CompileError: as ``generate``, or as ``split``.
    """
    record = backend(target.name)
    if runs_in_parts(module, record):
        from gridlane.compiler.grid_plan import artifact_of

        parts = split(module, record.pairs_float64(options.fp64))
        return artifact_of(module, parts, target)
    return generate(module, target, options)


def launched(module: Module, record: Backend, options: KernelOptions) -> list[Module]:
    """The modules of the kernels that a launch on a target consists of.

    Raises:
        CompileError: as ``split``.
    """
    if not runs_in_parts(module, record):
        return [module]
    return split(module, record.pairs_float64(options.fp64)).modules


def runs_in_parts(module: Module, record: Backend) -> bool:
    """Whether a kernel has barriers of the grid and a target has none.

    Raises:
        TargetError: the kernel's grids consist of clusters, which are not launched in parts.
    """
    if module.cluster != (1, 1, 1) and syncs_grid(module):
        raise TargetError(
            f"{module.kernel.name}: the {record.name} target has no barrier of the grid in kernels "
            "of clusters: wait for the cluster, or launch without clusters",
            module.kernel.loc,
        )
    return "grid_sync" not in record.legal_ops(()) and syncs_grid(module)


def split(module: Module, pairs: bool) -> GridParts:
    """The parts of a kernel between its barriers of the grid. The module is left unchanged.

    Args:
        pairs: as ``Backend.pairs_float64`` says.

    Raises:
        CompileError: a value that lives across a barrier cannot be saved; located.
    """
    from gridlane.passes.structure.grid_parts import split_at_grid_syncs  # few kernels need it

    kernel = module.kernel
    return at_any_depth(kernel.name, kernel.loc, split_at_grid_syncs, copied(module), pairs)


def generator(record: Backend) -> Any:
    """A backend's module with ``generate`` and ``text``, imported alone: most programs use one."""
    return import_module(record.generator)


def text(module: Module, target: Target, stage: str, options: KernelOptions | None = None) -> str:
    """A stage of a module's compilation as readable text.

    Args:
        stage: ``ir`` the module, ``llvm`` optimised LLVM IR, ``asm`` assembly, which is PTX for
            cuda, the instructions of SPIR-V for vulkan and the program text for other shaders.

    Raises:
        TargetError: interp has ir only.
    """
    if stage == "ir":
        return print_module(module)
    record, name, loc = backend(target.name), module.kernel.name, module.kernel.loc
    asked = options or KernelOptions()
    parts = launched(module, record, asked)
    texts_of_parts = (at_any_depth(name, loc, _text, part, target, asked, stage) for part in parts)
    return "\n".join(texts_of_parts)


def _text(module: Module, target: Target, options: KernelOptions, stage: str) -> str:
    record = backend(target.name)
    with _recorded(module, target, options) as given:
        return generator(record).text(_expanded(given, record), target, options, stage)


def decisions(
    module: Module, target: Target, options: KernelOptions | None = None
) -> list[Decision]:
    """What passes and the code generator decide about the places of a module.

    Raises:
        TargetError: interp has no code.
    """
    with collecting() as collected:
        text(module, target, "asm", options)
    return collected


def _expanded(module: Module, record: Backend) -> Module:
    """A copy in which ops that the target does not emit are expanded, where they can be.

    Raises:
        TargetError: the target refuses an op that it does not emit, or the kernel needs a stack,
            which the target's threads do not have.
    """
    pipeline.require_expandable(module, record)
    if module.stack is not None and (
        record.stack == 0 or (record.stack is not None and module.stack_holds_addresses)
    ):
        name, loc = module.stack
        pointers = " that holds pointers" if record.stack else ""
        raise TargetError(
            f"{name}: {record.title} have no stack for each thread{pointers}; write loops and "
            "arrays of a known size, or launch the kernel on cpu or cuda",
            loc,
        )
    changed = copied(module)
    for each in _first_passes(record):
        pipeline.apply(changed, each, record, KernelOptions())
    return changed


def _first_passes(record: Backend) -> Iterator[Pass]:
    """The passes in front of a target's pipeline."""
    if all(each.path != passes.EXPAND_FLUSHING.path for each in record.pipeline):
        yield passes.EXPAND_FLUSHING
    yield passes.EXPAND_OPS
    if not record.on_host:
        yield passes.DROP_NUMBERS


def copied(module: Module) -> Module:
    """A deep copy that passes may change."""
    functions: dict[str, Function] = {}
    for name, function in module.functions.items():
        values = {
            param.value: Value(param.value.type, None, param.value.name)
            for param in function.params
        }
        variables = {var: Var(var.name, var.type) for var in function.variables}
        params = [replace(p, value=values[p.value]) for p in function.params]
        body = clone_region(function.body, values, variables)
        functions[name] = Function(
            name,
            params,
            function.results,
            body,
            list(variables.values()),
            function.is_kernel,
            function.loc,
            function.is_library,
            function.is_declared,
        )
    copy = Module(functions, dict(module.globals), list(module.errors))
    copy.stack, copy.export = module.stack, module.export
    copy.stack_bytes = module.stack_bytes
    copy.stack_holds_addresses = module.stack_holds_addresses
    copy.program_warps = module.program_warps
    copy.program_stages = module.program_stages
    copy.program_cluster, copy.cluster = module.program_cluster, module.cluster
    copy.own_dynamic = module.own_dynamic
    copy.extra_threads = module.extra_threads
    copy.tensor_maps = module.tensor_maps
    return copy
