"""The processor's mode in which arithmetic flushes subnormal numbers, on x86-64.

MXCSR's bits "flush to zero" and "denormals are zeros": a result is flushed if it is subnormal when
rounded to 24 bits, as NVIDIA has it, and keeps its sign. (ARM's FZ tests before it rounds.) The
body is a function of its own, that LLVM moves no arithmetic across a change of the mode.
"""

from __future__ import annotations

from gridlane.codegen.llvm.machine import X86, Machine

_BITS = 0x8040

ATTRIBUTES = ' "denormal-fp-math"="preserve-sign,preserve-sign"'
"""Of functions that run in the mode, for what LLVM computes itself."""


def has_mode(machine: Machine) -> bool:
    """Whether a machine has the mode."""
    return machine.architecture == X86


def entry(name: str, body: str, parameters: dict[str, str]) -> list[str]:
    """The function that sets the mode, calls the kernel's body and restores the mode."""
    taken = ", ".join(f"{type_} {value}" for value, type_ in parameters.items())
    given = ", ".join(f"{type_.split()[0]} {value}" for value, type_ in parameters.items())
    return [
        "declare void @llvm.x86.sse.stmxcsr(ptr)",
        "declare void @llvm.x86.sse.ldmxcsr(ptr)",
        f'define void @"{name}"({taken}) #0 {{',
        "  %before = alloca i32",
        "  %inside = alloca i32",
        "  call void @llvm.x86.sse.stmxcsr(ptr %before)",
        "  %old = load i32, ptr %before",
        f"  %new = or i32 %old, {_BITS}",
        "  store i32 %new, ptr %inside",
        "  call void @llvm.x86.sse.ldmxcsr(ptr %inside)",
        f'  call void @"{body}"({given})',
        "  call void @llvm.x86.sse.ldmxcsr(ptr %before)",
        "  ret void",
        "}",
    ]
