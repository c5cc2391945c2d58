"""Where the instructions that reach memory come from, as the lines of debug metadata.

A fault of a kernel is reported with its line. While a kernel is emitted, its instructions have
marks behind them, which the text of the kernel is without; ``with_places`` makes metadata of them.
"""

from __future__ import annotations

import re
from dataclasses import replace

from gridlane.codegen.llvm.cpu.accesses import MARK
from gridlane.codegen.llvm.cpu.lanes import Emission
from gridlane.core.source import Loc, users
from gridlane.ir.op import Op
from gridlane.ir.types import PointerType

_MARK = re.compile(rf"{MARK}(\d+)$")
_REACHES = re.compile(r" (?:load|store|atomicrmw|cmpxchg) |@llvm\.masked\.|@llvm\.mem")
_DEFINED = re.compile(r"define .*?@(\"[^\"]*\"|[\w.$]+)\(")
_CALLED = re.compile(r"\bcall .*?@(\"[^\"]*\"|[\w.$]+)\(")


def reaches_memory(op: Op) -> bool:
    """Whether an op may read or write by an address that it is given."""
    return any(isinstance(value.type, PointerType) for value in op.operands())


def mark(state: Emission, op: Op, start: int) -> None:
    """Mark the lines from ``start`` on with the place of an op."""
    lines, number = state.body.lines, 0
    for at in range(start, len(lines)):
        if _REACHES.search(lines[at]) and MARK not in lines[at]:
            number = number or _number(state, op.loc)
            if number:
                lines[at] += f"{MARK}{number}"


def _number(state: Emission, loc: Loc) -> int:
    """The number of a place; 0 for one that is not known."""
    place = users(loc)
    key = place.file, place.line
    if place.line and key not in state.places:
        state.places[key] = replace(place, caller=None)
        state.place_numbers[key] = len(state.places)
    return state.place_numbers.get(key, 0)


def with_places(text: str) -> str:
    """The text of a module with metadata in place of its marks; all its functions have some."""
    nodes: list[str] = []
    first = 1 + max((int(each) for each in re.findall(r"^!(\d+) = ", text, re.M)), default=-1)

    def node(made: str) -> int:
        nodes.append(f"!{first + len(nodes)} = {made}")
        return first + len(nodes) - 1

    lines = text.split("\n")
    functions = _marked_functions(lines)
    if not functions:
        return text
    file = node('!DIFile(filename: "kernel", directory: "")')
    unit = node(
        f"distinct !DICompileUnit(language: DW_LANG_C, file: !{file}, isOptimized: true, "
        "runtimeVersion: 0, emissionKind: LineTablesOnly)"
    )
    type_ = node(f"!DISubroutineType(types: !{node('!{}')})")
    scope, known = 0, dict[int, int]()

    def place(number: int) -> str:
        if number not in known:
            known[number] = node(f"!DILocation(line: {number}, column: 1, scope: !{scope})")
        return f", !dbg !{known[number]}"

    for at, line in enumerate(lines):
        defined = _DEFINED.match(line)
        if defined:
            scope, known = 0, {}
            if defined[1] in functions:
                name = defined[1].strip('"').replace("\\", "")
                scope = node(
                    f'distinct !DISubprogram(name: "{name}", scope: !{file}, file: !{file}, '
                    f"line: 0, type: !{type_}, spFlags: DISPFlagDefinition | DISPFlagOptimized, "
                    f"unit: !{unit})"
                )
                lines[at] = f"{line.removesuffix('{')}!dbg !{scope} {{"
        elif scope and (found := _MARK.search(line)):
            lines[at] = line[: found.start()] + place(int(found[1]))
        elif scope and (called := _CALLED.search(line)) and called[1] in functions:
            lines[at] += place(0)
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
    found, current = set[str](), ""
    for line in lines:
        if defined := _DEFINED.match(line):
            current = defined[1]
        elif current and MARK in line and _MARK.search(line):
            found.add(current)
    return found


def without_marks(text: str) -> str:
    """The text of a module without marks."""
    return re.sub(_MARK.pattern, "", text, flags=re.M)
