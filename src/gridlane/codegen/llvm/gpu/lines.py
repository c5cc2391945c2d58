"""The source line of each instruction, as debug metadata for profilers and errors."""

from __future__ import annotations

import os

from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.core.source import Loc

SECTIONS = 75
"""The first version of PTX whose debug sections have what LLVM writes."""


def wants_lines(state: Emission) -> bool:
    """Whether instructions get source lines."""
    return state.options.lineinfo or state.options.debug


def line_mark(state: Emission, loc: Loc) -> str:
    """The suffix of an instruction with its line; "" if lines are off."""
    if not wants_lines(state) or not loc.line or "unit" not in state.lines:
        return ""
    number = state.lines.get(loc)
    if number is None:
        scope = _scope(state, loc.file)
        number = state.lines[loc] = state.node(
            f"!DILocation(line: {loc.line}, column: {loc.column + 1}, scope: !{scope})"
        )
    return f", !dbg !{number}"


def declare_unit(state: Emission, entry: str, loc: Loc) -> str:
    """Describe the kernel; returns the suffix of its definition."""
    if not wants_lines(state) or not loc.line:
        return ""
    file = _file(state, loc.file)
    # What a debugger reads has a price at run time, and is for those who link the PTX themselves.
    whole = state.options.debug and not state.options.opt and state.module.export is not None
    if whole:
        state.version = max(state.version, SECTIONS)
    unit = state.node(
        f"distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !{file}, "
        f'producer: "gridlane", isOptimized: {"false" if whole else "true"}, runtimeVersion: 0, '
        f"emissionKind: {'FullDebug' if whole else 'DebugDirectivesOnly'})"
    )
    state.lines["unit"], state.lines["home"] = unit, file
    state.lines["program"] = program = _program(state, entry, loc)
    return f" !dbg !{program}"


def describe_caller(state: Emission, entry: str, loc: Loc) -> tuple[str, str]:
    """Describe a function around the kernel; returns the suffixes of its definition, and of its
    instructions, which have the line of the kernel."""
    if "unit" not in state.lines:
        return "", ""
    program = _program(state, entry, loc)
    line = state.node(f"!DILocation(line: {loc.line}, column: 1, scope: !{program})")
    return f" !dbg !{program}", f", !dbg !{line}"


def _program(state: Emission, entry: str, loc: Loc) -> int:
    """The node of a function in the file of the kernel."""
    file, unit = state.lines["home"], state.lines["unit"]
    signature = state.node(f"!DISubroutineType(types: !{state.node('!{}')})")
    return state.node(
        f'distinct !DISubprogram(name: "{entry}", linkageName: "{entry}", scope: !{file}, '
        f"file: !{file}, line: {loc.line}, type: !{signature}, scopeLine: {loc.line}, "
        f"spFlags: DISPFlagDefinition, unit: !{unit})"
    )


def _file(state: Emission, path: str) -> int:
    """The node of a source file."""
    key = "file", path
    if key not in state.lines:
        folder, name = os.path.split(path)
        state.lines[key] = state.node(
            f'!DIFile(filename: "{_quoted(name)}", directory: "{_quoted(folder)}")'
        )
    return state.lines[key]


def _scope(state: Emission, path: str) -> int:
    """The node of the kernel, or of the part of it from another file."""
    file = _file(state, path)
    if file == state.lines["home"]:
        return state.lines["program"]
    key = "scope", file
    if key not in state.lines:
        state.lines[key] = state.node(
            f"!DILexicalBlockFile(scope: !{state.lines['program']}, file: !{file}, "
            "discriminator: 0)"
        )
    return state.lines[key]


def _quoted(text: str) -> str:
    """Text quoted as an LLVM string."""
    return "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}"
        for byte in text.encode("utf-8", "surrogateescape")
    )
