"""The LLVM module of a kernel: its definition, globals, helpers and metadata."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gridlane.codegen.llvm.gpu.nvptx import (
    atomics,
    comparison,
    control,
    copies,
    fragments,
    gridops,
    integers,
    mathlib,
    memory,
    products,
    report,
    warps,
)
from gridlane.codegen.llvm.gpu.nvptx.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.lines import declare_unit
from gridlane.codegen.llvm.gpu.nvptx.names import register_name
from gridlane.core.options import KernelOptions
from gridlane.ir.op import Op
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Function, Module, Param

FAMILIES = (
    *(atomics, comparison, copies, fragments, gridops, integers, mathlib, memory, products),
    *(report, warps),
)
"""Imported for the emissions that they register."""


@dataclass(frozen=True, slots=True)
class KernelCode:
    """LLVM IR of a kernel and what the runtime must know of it.

    Attributes:
        library: the functions of libdevice that it calls.
        reports: it refers to the report block.
    """

    text: str
    entry: str
    prints: tuple[Op, ...]
    library: frozenset[str]
    reports: bool
    cooperative: bool
    uses_dynamic_shared: bool


def emit_kernel(module: Module, options: KernelOptions, capability: int) -> KernelCode:
    """Emit a kernel whose calls are inlined.

    Args:
        capability: compute capability as one number, 90 for 9.0.

    Raises:
        TargetError: the hardware cannot do what an op asks; located.
    """
    state = Emission(module, options, capability)
    kernel = module.kernel
    entry = entry_name(kernel.name)
    debug = declare_unit(state, entry, kernel.loc)
    for number, param in enumerate(kernel.params):
        name = f"%p{number}"
        if register_name(param.value.type) == "i1":
            name = state.body.op(f"icmp ne i8 {name}, 0")
        state.set(param.value, name)
    _declare_variables(state, kernel)
    if control.emit_region(state, kernel.body):
        state.body.mark = ""
        state.body.do("ret void")
    elif state.body.lines[-1].endswith(":"):  # a join that nothing reaches
        state.body.do("unreachable")
    return KernelCode(
        _text(state, kernel, entry, debug),
        entry,
        tuple(state.prints),
        frozenset(state.library),
        any(name.endswith("_report") for name in state.globals),
        state.cooperative,
        state.uses_dynamic_shared,
    )


def _declare_variables(state: Emission, kernel: Function) -> None:
    """A slot for each variable, zero at first."""
    for var in kernel.variables:
        type_ = register_name(var.type)
        state.slots[var] = state.body.alloca(type_)
        state.body.do(f"store {type_} zeroinitializer, ptr {state.slots[var]}")


def entry_name(name: str) -> str:
    """A kernel's name as PTX allows it: letters, digits, _ and $, no digit in front.

    >>> entry_name("f.<locals>.g"), entry_name("9")
    ('f__locals__g', '_9')
    """
    plain = re.sub(r"[^A-Za-z0-9_$]", "_", name)
    return f"_{plain}" if plain[:1].isdigit() or not plain else plain


def _text(state: Emission, kernel: Function, entry: str, debug: str) -> str:
    """The whole LLVM module."""
    parameters = ", ".join(_parameter(param, n) for n, param in enumerate(kernel.params))
    lines = [
        'target triple = "nvptx64-nvidia-cuda"',
        *_globals(state),
        f'define ptx_kernel void @"{entry}"({parameters}) #0{debug} {{',
        "entry:",
        *state.body.allocas,
        *state.body.lines,
        "}",
        *state.functions.values(),
        *sorted(state.body.declared.values()),
        f"attributes #0 = {{ {_attributes(state.options)} }}",
        *_module_metadata(state),
    ]
    return "\n".join((*lines, ""))


def _parameter(param: Param, number: int) -> str:
    """A kernel parameter with what is known of it."""
    type_ = param.value.type
    name = register_name(type_)
    if not isinstance(type_, PointerType):
        return f"{'i8' if name == 'i1' else name} %p{number}"
    words = [name]
    if param.noalias:
        words.append("noalias")
    if param.readonly:
        words.append("readonly")
    align = param.align or min(16, type_.element.align)
    return " ".join((*words, f"align {align} %p{number}"))


def _attributes(options: KernelOptions) -> str:
    words = ["nounwind"]
    if options.fastmath:
        words.append('"denormal-fp-math-f32"="preserve-sign"')
    if options.launch_bounds:
        words.append(f'"nvvm.maxntid"="{options.launch_bounds[0]}"')
    if len(options.launch_bounds) > 1:
        words.append(f'"nvvm.minctasm"="{options.launch_bounds[1]}"')
    if options.max_registers:
        words.append(f'"nvvm.maxnreg"="{options.max_registers}"')
    return " ".join(words)


def _globals(state: Emission) -> list[str]:
    """Shared arrays, constant data, and what ops asked for."""
    lines: list[str] = []
    for item in state.module.globals.values():
        name, align = memory.global_name(item.name), max(16, item.align)
        if item.data is not None:
            lines.append(
                f"{name} = internal addrspace({item.space.value}) constant "
                f'[{len(item.data)} x i8] c"{_escaped(item.data)}", align {align}'
            )
        else:
            assert item.space is Space.SHARED, item
            lines.append(
                f"{name} = internal addrspace(3) global [{item.size} x i8] undef, align {align}"
            )
    if state.uses_dynamic_shared:
        lines.append(f"{memory.DYNAMIC_SHARED} = external addrspace(3) global [0 x i8], align 16")
    return lines + list(state.globals.values())


def _module_metadata(state: Emission) -> list[str]:
    lines = list(state.metadata)
    count = len(lines)
    flags = [count]
    lines.append(f'!{{i32 4, !"nvvm-reflect-ftz", i32 {int(state.options.fastmath)}}}')
    named: list[str] = []
    if "unit" in state.lines:
        flags.append(count + 1)
        lines.append('!{i32 2, !"Debug Info Version", i32 3}')
        named.append(f"!llvm.dbg.cu = !{{!{state.lines['unit']}}}")
    named.append(f"!llvm.module.flags = !{{{', '.join(f'!{n}' for n in flags)}}}")
    return [*named, *(f"!{n} = {text}" for n, text in enumerate(lines))]


def _escaped(data: bytes) -> str:
    """Bytes as LLVM writes them in a string."""
    return "".join(f"\\{byte:02X}" for byte in data)
