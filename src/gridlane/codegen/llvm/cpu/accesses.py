"""Outlines the gathers and scatters of kernels that have many of them.

Without AVX-512 LLVM splits a scatter into a store for each lane and a gather into several loads;
one of some lanes becomes a branch for each lane. Its selection of x86 instructions compares each
load with all others that have the same chain, so that compile time grows with the square of their
number in a basic block. A kernel with 258 of all lanes takes 39 s for Haswell; with calls it takes
1 s, and has a third less code. One with 221 of some lanes takes 14 s for Zen 3, and 7 s with
calls.
"""

from __future__ import annotations

import re

from gridlane.codegen.llvm.machine import X86, Machine

MOST_IN_LINE = 96
"""Kernels with at most so many of all lanes keep them in line."""

MOST_OF_SOME_LANES = 8
"""Kernels with at most so many of some lanes keep them in line: each has a branch for each lane."""

MARK = " ; place "
"""In front of the number of a place; see debug_lines.py."""
_ACCESS = re.compile(
    r"\bcall (?P<result>\S.*?) @llvm\.masked\.(?P<kind>gather|scatter)\.[\w.]+"
    r"\((?P<operands>.*), <\d+ x i1> (?P<mask>splat \(i1 true\)|%[\w.]+)"
    r"(?:, <[^>]*> zeroinitializer)?\)$"
)
"""A gather or scatter, whose lanes that are off get zero."""
_OPERAND = re.compile(r"(?P<type><\d+ x \w+>)(?P<align> align \d+)? (?P<value>%[\w.]+)")
"""A vector, of values, addresses or conditions, that is in a register."""


def outline_accesses(lines: list[str], machine: Machine) -> tuple[list[str], list[str]]:
    """The lines of a kernel with calls in place of such accesses, and the functions called."""
    if machine.architecture != X86 or "avx512f" in machine.has:
        return lines, []
    parts = [line.partition(MARK) for line in lines]
    matches = [_ACCESS.search(part[0]) for part in parts]
    whole = [each is not None and each["mask"].startswith("splat") for each in matches]
    some = sum(each is not None for each in matches) - sum(whole)
    moved = {True: sum(whole) > MOST_IN_LINE, False: some > MOST_OF_SOME_LANES}
    functions: dict[str, str] = {}
    results = [
        line
        if access is None or not moved[all_lanes]
        else _called(part[0], access, functions) + part[1] + part[2]
        for line, part, access, all_lanes in zip(lines, parts, matches, whole, strict=True)
    ]
    return results, list(functions.values())


def _called(line: str, access: re.Match[str], functions: dict[str, str]) -> str:
    """A line with a call of a function, which it adds to those of the module."""
    parts = re.split(r", (?=<)", access["operands"])
    if access["mask"].startswith("%"):
        lanes = parts[-1].partition(" x ")[0]
        parts.append(f"{lanes} x i1> {access['mask']}")
    operands = [_OPERAND.fullmatch(each) for each in parts]
    arguments = [each for each in operands if each is not None]
    if len(arguments) != len(operands):
        return line  # a constant
    result = access["result"]
    key = " ".join(
        (access["kind"], *(f"{each['type']}{each['align'] or ''}" for each in arguments))
    )
    name = f'@"gridlane.{key} {result}"'
    if name not in functions:
        functions[name] = _function(name, result, access[0], arguments)
    passed = ", ".join(f"{each['type']} {each['value']}" for each in arguments)
    return f"{line[: access.start()]}call fastcc {result} {name}({passed})"


def _function(name: str, result: str, access: str, operands: list[re.Match[str]]) -> str:
    """The definition of a function that does an access."""
    for number, each in enumerate(operands):
        typed = f"{each['type']}{each['align'] or ''}"
        access = access.replace(each[0], f"{typed} %x{number}", 1)
    parameters = ", ".join(f"{each['type']} %x{number}" for number, each in enumerate(operands))
    head = f"define internal fastcc {result} {name}({parameters}) noinline #0 {{"
    if result == "void":
        return f"{head}\n  {access}\n  ret void\n}}"
    return f"{head}\n  %got = {access}\n  ret {result} %got\n}}"
