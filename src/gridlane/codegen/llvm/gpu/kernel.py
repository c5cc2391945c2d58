"""The LLVM module of a kernel: its definition, globals, helpers and metadata."""

from __future__ import annotations

from gridlane.codegen.llvm.gpu import (
    atomics,
    comparison,
    control,
    exported,
    functions,
    gridops,
    memory,
    report,
)
from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.lines import declare_unit
from gridlane.codegen.llvm.gpu.overlay import Overlay
from gridlane.core.frozen import frozen
from gridlane.core.options import KernelOptions
from gridlane.ir.op import Op
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Function, Module, Param

FAMILIES = (atomics, comparison, functions, gridops, memory, report)
"""Imported for the emitters that they register."""


@frozen
class KernelCode:
    """The LLVM IR of a kernel and the facts that the runtime needs.

    Attributes:
        library: the functions of the target's own library that it calls.
        reports: it refers to the report block.
        version: the lowest version of the target's language that has the code; 0 is any.
    """

    text: str
    entry: str
    prints: tuple[Op, ...]
    library: frozenset[str]
    reports: bool
    cooperative: bool
    uses_dynamic_shared: bool
    static_shared: int
    version: int = 0


def emit_kernel(module: Module, options: KernelOptions, overlay: Overlay) -> KernelCode:
    """Emit a kernel whose calls are inlined.

    Args:
        overlay: the target's overlay.

    Raises:
        TargetError: the hardware does not support an op; located.
    """
    state = Emission(module, options, overlay)
    memory.place_shared(state)
    kernel = module.kernel
    export = module.export
    entry = overlay.entry_name(kernel.name if export is None else export.name)
    debug = declare_unit(state, entry, kernel.loc)
    for number, param in enumerate(kernel.params):
        name, type_ = f"%p{number}", state.register_name(param.value.type)
        if type_ == "i1":
            name = state.body.op(f"icmp ne i8 {name}, 0")
        elif exported.is_word(state, type_):
            name = state.body.op(f"bitcast i16 {name} to {type_}")
        state.set(param.value, name)
    _declare_variables(state, kernel)
    if control.emit_region(state, kernel.body):
        state.body.mark = ""
        state.body.do(state.leaving)
    elif state.body.lines[-1].endswith(":"):  # an unreachable join
        state.body.do("unreachable")
    return KernelCode(
        _text(state, kernel, entry, debug),
        entry,
        tuple(state.prints),
        frozenset(state.library),
        any(name.endswith("_report") for name in state.globals),
        state.cooperative,
        state.uses_dynamic_shared,
        state.shared_bytes,
        state.version,
    )


def _declare_variables(state: Emission, kernel: Function) -> None:
    """Allocate a slot for each variable, initially zero."""
    for var in kernel.variables:
        type_ = state.register_name(var.type)
        state.slots[var] = state.body.alloca(type_)
        state.body.do(f"store {type_} zeroinitializer, ptr {state.slots[var]}")


def _text(state: Emission, kernel: Function, entry: str, debug: str) -> str:
    """The whole LLVM module."""
    parameters = ", ".join(_parameter(state, param, n) for n, param in enumerate(kernel.params))
    lines = [
        f'target triple = "{state.overlay.triple}"',
        *_globals(state),
        _head(state, entry, parameters, debug),
        "entry:",
        *state.body.allocas,
        *state.body.lines,
        "}",
        *([] if state.module.export is None else exported.caller(state, entry)),
        *state.functions.values(),
        *sorted(state.body.declared.values()),
        f"attributes #0 = {{ {_attributes(state)} }}",
        *_module_metadata(state),
    ]
    return "\n".join((*lines, ""))


def _head(state: Emission, entry: str, parameters: str, debug: str) -> str:
    """The beginning of the definition: of a kernel, or of a function that other code calls."""
    export = state.module.export
    if export is None:
        return f'define {state.overlay.convention} void @"{entry}"({parameters}) #0{debug} {{'
    if export.abi == "numba":
        return f'define i32 @"{entry}"({parameters}) #0{debug} {{'
    inside = f"{entry}{exported.INSIDE}"
    return f'define internal i32 @"{inside}"({parameters}) alwaysinline #0{debug} {{'


def _parameter(state: Emission, param: Param, number: int) -> str:
    """A kernel parameter with its known attributes."""
    type_ = param.value.type
    name = state.register_name(type_)
    if not isinstance(type_, PointerType):
        word = exported.is_word(state, name)
        return f"{'i8' if name == 'i1' else 'i16' if word else name} %p{number}"
    if param.by_value:  # the code takes its address, and nothing writes there
        return f"{name} {state.overlay.by_value(param.by_value)} %p{number}"
    attributes = [name]
    if param.noalias:
        attributes.append("noalias")
    if param.readonly:
        attributes.append("readonly")
    align = param.align or min(16, type_.element.align)
    return " ".join((*attributes, f"align {align} %p{number}"))


def _attributes(state: Emission) -> str:
    attributes = ["nounwind"]
    if state.options.fastmath:
        attributes.append('"denormal-fp-math-f32"="preserve-sign"')
    return " ".join(attributes + state.overlay.attributes(state.options, state.module.cluster))


def _globals(state: Emission) -> list[str]:
    """Define shared arrays, constant data, and the globals that ops need."""
    lines: list[str] = []
    for item in state.module.globals.values():
        name, align = memory.global_name(item.name), max(16, item.align)
        space = state.overlay.space_name(item.space)
        if item.data is not None:
            lines.append(
                f"{name} = internal {space} constant "
                f'[{len(item.data)} x i8] c"{_escaped(item.data)}", align {align}'
            )
        else:
            assert item.space is Space.SHARED, item
            if item.name in state.shared_places:
                continue
            lines.append(
                f"{name} = internal {space} global [{item.size} x i8] undef, align {align}"
            )
    if state.shared_places:
        space = state.overlay.space_name(Space.SHARED)
        most = max([state.dynamic_align, *(item.align for item in state.module.static_shared())])
        array = f"internal {space} global [{state.shared_bytes} x i8] undef, align {most}"
        lines.append(f"{memory.ALL_SHARED} = {array}")
        # LLVM would shrink an array of which the kernel uses a part.
        kept = f"ptr addrspacecast ({state.pointer_name(Space.SHARED)} {memory.ALL_SHARED} to ptr)"
        section = 'section "llvm.metadata"'
        lines.append(f"@llvm.compiler.used = appending global [1 x ptr] [{kept}], {section}")
    if state.uses_dynamic_shared:
        space = state.overlay.space_name(Space.SHARED)
        array = f"external {space} global [0 x i8], align {state.dynamic_align}"
        lines.append(f"{memory.DYNAMIC_SHARED} = {array}")
    return lines + list(state.globals.values())


def _module_metadata(state: Emission) -> list[str]:
    lines, named = list(state.metadata), list[str]()
    flags = state.overlay.module_flags(state.options)
    if "unit" in state.lines:
        flags.append('!{i32 2, !"Debug Info Version", i32 3}')
        named.append(f"!llvm.dbg.cu = !{{!{state.lines['unit']}}}")
    numbers = ", ".join(f"!{len(lines) + n}" for n in range(len(flags)))
    if flags:
        named.append(f"!llvm.module.flags = !{{{numbers}}}")
    return [*named, *(f"!{n} = {text}" for n, text in enumerate([*lines, *flags]))]


def _escaped(data: bytes) -> str:
    """Bytes as an LLVM string."""
    return "".join(f"\\{byte:02X}" for byte in data)
