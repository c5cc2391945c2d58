"""A function with C's calling convention around one that stores its result."""

from __future__ import annotations

from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.lines import describe_caller
from gridlane.core.exports import Export

INSIDE = "__inside"
"""The end of the name of the function that it calls."""


def caller(state: Emission, entry: str) -> list[str]:
    """The definition of a function that returns its result by C's convention.

    A thread that raised an exception has no result: it ends the launch by a trap.
    """
    export = state.module.export
    if export is None or export.abi != "c":
        return []
    names = [state.register_name(each.value.type) for each in state.module.kernel.params[1:]]
    kinds = ["i8" if name == "i1" else "i16" if is_word(state, name) else name for name in names]
    parameters = ", ".join(f"{kind} %p{n}" for n, kind in enumerate(kinds))
    given = ", ".join(["ptr %there", *(f"{kind} %p{n}" for n, kind in enumerate(kinds))])
    kind = _returned(export)
    inside = f'@"{entry}{INSIDE}"'
    debug, mark = describe_caller(state, entry, state.module.kernel.loc)
    state.body.declared.setdefault("llvm.trap", "declare void @llvm.trap()")
    return [
        f'define {kind} @"{entry}"({parameters}) #0{debug} {{',
        "entry:",
        f"%there = alloca [{max(1, export.size)} x i8], align {export.align}",
        f"%status = call i32 {inside}({given}){mark}",
        "%raised = icmp ne i32 %status, 0",
        "br i1 %raised, label %trap, label %done",
        "trap:",
        "call void @llvm.trap()",
        "unreachable",
        "done:",
        *_return(export, kind),
        "}",
    ]


def is_word(state: Emission, name: str) -> bool:
    """Whether a parameter is a float of 16 bits that its caller passes as an integer, as numba."""
    return state.module.export is not None and name in ("half", "bfloat")


def _returned(export: Export) -> str:
    """LLVM's type of the result: an integer or float, or an array of words of its alignment."""
    if not export.size:
        return "void"
    scalar = export.scalar
    if scalar is not None:
        wide = scalar.is_float and scalar.bits >= 32
        return {32: "float", 64: "double"}[scalar.bits] if wide else f"i{8 * scalar.size}"
    return f"[{export.size // export.align} x i{8 * export.align}]"


def _return(export: Export, kind: str) -> list[str]:
    if not export.size:
        return ["ret void"]
    return [f"%result = load {kind}, ptr %there, align {export.align}", f"ret {kind} %result"]
