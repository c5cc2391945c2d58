"""Source locations of the instructions that access memory and of the branches of loops, as the
lines of debug metadata.

A fault of a kernel is reported with its line, and so is one that is stopped in an endless loop.
During emission marks follow the instructions; the kernel's text is without them, and
``with_places`` turns them into metadata.
"""

from __future__ import annotations

import re
from dataclasses import replace

from gridlane.codegen.llvm.cpu.accesses import MARK
from gridlane.codegen.llvm.cpu.lanes import Emission, KnownPlaces
from gridlane.core.source import Loc, users
from gridlane.ir.op import Op
from gridlane.ir.ops.control import Loop
from gridlane.ir.types import PointerType

_MARK = re.compile(rf"{MARK}(-?\d+)$")
_UNIT = (
    "distinct !DICompileUnit(language: DW_LANG_C, file: !{file}, isOptimized: true, "
    "runtimeVersion: 0, emissionKind: LineTablesOnly)"
)
_SUBPROGRAM = (
    'distinct !DISubprogram(name: "{name}", scope: !{file}, file: !{file}, line: 0, '
    "type: !{type}, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !{unit})"
)
_REACHES = re.compile(r" (?:load|store|atomicrmw|cmpxchg) |@llvm\.masked\.|@llvm\.mem")
_BRANCHES = re.compile(r"^  br ")
_DEFINED = re.compile(r"define .*?@(\"[^\"]*\"|[\w.$]+)\(")
_CALLED = re.compile(r"\bcall .*?@(\"[^\"]*\"|[\w.$]+)\(")


def has_place(op: Op) -> bool:
    """Whether an op may read or write by an address that it is given, or is a loop."""
    return isinstance(op, Loop) or any(
        isinstance(value.type, PointerType) for value in op.operands()
    )


def mark(state: Emission, op: Op, start: int) -> None:
    """Mark the lines from ``start`` on with the place of an op: those that reach memory; of a loop
    its branches, but those of a loop inside."""
    lines, number, is_loop = state.body.lines, 0, isinstance(op, Loop)
    marked = _BRANCHES if is_loop else _REACHES
    for index in range(start, len(lines)):
        if marked.search(lines[index]) and MARK not in lines[index]:
            number = number or _number(state.loops if is_loop else state.places, op.loc)
            if number:
                lines[index] += f"{MARK}{-number if is_loop else number}"


def _number(known: KnownPlaces, loc: Loc) -> int:
    """The number of a place among those of its kind; 0 for one that is not known."""
    place = users(loc)
    if not place.line:
        return 0
    numbered = len(known) + 1, replace(place, caller=None)
    return known.setdefault((place.file, place.line), numbered)[0]


def with_places(text: str, accesses: int) -> str:
    """The text of a module with metadata in place of its marks; all its functions have some.

    Args:
        accesses: the places of accesses; those of loops, whose marks are negative, are behind them.
    """
    nodes: list[str] = []
    first = 1 + max((int(each) for each in re.findall(r"^!(\d+) = ", text, re.M)), default=-1)

    def node(definition: str) -> int:
        nodes.append(f"!{first + len(nodes)} = {definition}")
        return first + len(nodes) - 1

    lines = text.split("\n")
    functions = _marked_functions(lines)
    if not functions:
        return text
    file = node('!DIFile(filename: "kernel", directory: "")')
    unit = node(_UNIT.format(file=file))
    type_ = node(f"!DISubroutineType(types: !{node('!{}')})")
    scope, known = 0, dict[int, int]()

    def place(number: int) -> str:
        if number not in known:
            known[number] = node(f"!DILocation(line: {number}, column: 1, scope: !{scope})")
        return f", !dbg !{known[number]}"

    for index, line in enumerate(lines):
        defined = _DEFINED.match(line)
        if defined:
            scope, known = 0, {}
            if defined[1] in functions:
                name = defined[1].strip('"').replace("\\", "")
                scope = node(_SUBPROGRAM.format(name=name, file=file, type=type_, unit=unit))
                lines[index] = f"{line.removesuffix('{')}!dbg !{scope} {{"
        elif scope and (match := _MARK.search(line)):
            number = int(match[1])
            lines[index] = line[: match.start()] + place(
                number if number > 0 else accesses - number
            )
        elif scope and (called := _CALLED.search(line)) and called[1] in functions:
            lines[index] += place(0)
    flags = [node('!{i32 2, !"Dwarf Version", i32 4}')]
    flags.append(node('!{i32 2, !"Debug Info Version", i32 3}'))
    return "\n".join(
        [
            *lines,
            *nodes,
            f"!llvm.dbg.cu = !{{!{unit}}}",
            f"!llvm.module.flags = !{{!{flags[0]}, !{flags[1]}}}",
            "",
        ]
    )


def _marked_functions(lines: list[str]) -> set[str]:
    """The functions with marks."""
    names, current = set[str](), ""
    for line in lines:
        if defined := _DEFINED.match(line):
            current = defined[1]
        elif current and MARK in line and _MARK.search(line):
            names.add(current)
    return names


def without_marks(text: str) -> str:
    """The text of a module without marks."""
    return re.sub(_MARK.pattern, "", text, flags=re.M)
