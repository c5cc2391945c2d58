"""``gridlane compile --list``: the kernels of a file, and what devices refuse."""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.backends import backends
from gridlane.backends.record import Backend
from gridlane.cli.inputs import USUAL_BLOCK, Input
from gridlane.cli.python_kernels import programs_block
from gridlane.core.errors import CompileError
from gridlane.core.options import Target
from gridlane.core.source import Loc
from gridlane.ir.ops.memory import DynamicShared
from gridlane.ir.values import Module


def listed(inputs: list[Input]) -> Iterator[str]:
    """What is shown of each kernel."""
    for each in inputs:
        yield "\n".join(_listed(each))


def _listed(input: Input) -> Iterator[str]:
    from gridlane import compiler

    yield input.title
    if input.block:
        yield _line("block", ", ".join(map(str, input.block)))
    try:
        module = compiler.translate(input.source, input.types, input.options)
    except CompileError as error:
        yield _line("refused", _told(error))
        return
    yield _line("shared", _shared(module))
    callees = [f.name for f in module.functions.values() if not (f.is_kernel or f.is_library)]
    if callees and not module.program_warps:  # those of a program are its ops on elements
        yield _line("calls", ", ".join(callees))
    refusals = {record.name: _refusal(module, input, record) for record in backends()}
    yield _line("devices", ", ".join(name for name, why in refusals.items() if not why) or "none")
    for name, why in refusals.items():
        if why:
            yield _line(name, f"refuses: {why}")


def _line(name: str, text: str) -> str:
    return f"  {name:<8} {text}"


def _shared(module: Module) -> str:
    """The bytes of shared memory of a block."""
    static = sum(item.size for item in module.static_shared())
    ops = (op for function in module.functions.values() for op in function.body.walk())
    dynamic = any(isinstance(op, DynamicShared) for op in ops)
    return f"{static} bytes{', and what the launch asks for' if dynamic else ''}"


def _refusal(module: Module, input: Input, record: Backend) -> str:
    """Why a device refuses the kernel, or ""."""
    from gridlane import compiler
    from gridlane.compiler.generation import generator, launched

    processor = generator(record).DEFAULT if record.named_processors else ""
    block = programs_block(module, record) or input.block or (USUAL_BLOCK, 1, 1)
    target = Target(record.name, block=block if record.shaped else None, processor=processor)
    try:
        for each in launched(module, record, input.options):
            compiler.generate(each, target, input.options)
    except CompileError as error:
        return _told(error)
    return ""


def _told(error: CompileError) -> str:
    """An error in one line, with its place."""
    message = error.message.partition("\n")[0]
    return f"{message}{_place(error.loc)}"


def _place(loc: Loc) -> str:
    return f" ({loc.file}:{loc.line}:{loc.column})" if loc.line else ""
