"""The C text of a library's functions, made of the table's rows.

A stub has the calling convention of its function: integers and pointers as they are, structures by
value as words. It passes each argument on as 64 bits, a structure by its address.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.abi.table import CType, ctype, functions, layout
from gridlane.abi.table.functions import Api, Function

_INTEGERS = {1: "int8_t", 2: "int16_t", 4: "int32_t", 8: "int64_t"}
WRITTEN = frozenset(
    {
        "cuGetProcAddress",
        "cuGetProcAddress_v2",
        "cuGetExportTable",
        "cudaGetDriverEntryPoint",
        "cudaGetDriverEntryPointByVersion",
    }
)
"""Functions that C has itself."""


def rows(api: Api, major: int) -> list[Function]:
    """The functions that a library of a major version of CUDA exports."""
    found: dict[str, Function] = {}
    for key, row in functions(api).items():
        wanted = row.since[0] <= major and (row.until is None or major <= row.until)
        if wanted and (row.name not in found or "@" in key):
            found[row.name] = row
    return list(found.values())


def stubs(api: Api, major: int) -> str:
    """The C text of a library."""
    lines = ['#include "bridge.h"', "", *_structs(rows(api, major)), ""]
    for row in rows(api, major):
        if row.name not in WRITTEN:
            lines += _stub(row, "")
            if row.per_thread:
                lines += _stub(row, f"_{row.per_thread}")
    if api == "driver":
        lines += _symbols(rows(api, major))
    return "\n".join(lines) + "\n"


def _stub(row: Function, suffix: str) -> Iterator[str]:
    kinds = [ctype(each.type) for each in row.parameters]
    name = f"{row.name}{suffix}"
    given = ", ".join(f"{c_type(kind)} a{n}" for n, kind in enumerate(kinds)) or "void"
    passed = ", ".join(_as_word(kind, f"a{n}") for n, kind in enumerate(kinds)) or "0"
    result = _result(row)
    yield f'static struct gl_slot slot_{name} = {{ "{row.api}:{name}", 0 }};'
    yield f"GL_EXPORT {result} {name}({given})"
    yield "{"
    if result.startswith("struct"):  # Python writes it behind the address that comes last
        yield f"    {result} made = {{ {{ 0 }} }};"
        yield f"    const uint64_t words[] = {{ {passed}, (uint64_t)(uintptr_t)&made }};"
        yield f"    gl_enter(&slot_{name}, words, {len(kinds) + 1});"
        yield "    return made;"
    else:
        yield f"    const uint64_t words[] = {{ {passed} }};"
        yield f"    return ({result})gl_enter(&slot_{name}, words, {len(kinds)});"
    yield "}"


def _result(row: Function) -> str:
    if not row.result:
        return "int"
    return "const char *" if row.result.endswith("*") else c_type(ctype(row.result))


def c_type(kind: CType) -> str:
    """A type with the calling convention of another, without CUDA's headers."""
    if kind.kind in ("pointer", "handle"):
        return "void *"
    if kind.kind == "float":
        return "float" if kind.size == 4 else "double"
    if kind.kind == "struct":
        return f"struct words_{words_of(kind)}"
    prefix = "" if kind.kind == "enum" or kind.signed else "u"
    return prefix + _INTEGERS[kind.size]


def words_of(kind: CType) -> int:
    """How many words of 32 bits a structure by value is."""
    return -(-layout(kind.name).size // 4)


def _structs(found: list[Function]) -> Iterator[str]:
    """The structures that functions take or return by value, without their members."""
    kinds = [ctype(each.type) for row in found for each in row.parameters]
    kinds += [ctype(row.result) for row in found if row.result]
    for count in sorted({words_of(kind) for kind in kinds if kind.kind == "struct"}):
        yield f"struct words_{count} {{ uint32_t words[{count}]; }};"


def _as_word(kind: CType, name: str) -> str:
    if kind.kind == "float":
        return f"gl_of_{'float' if kind.size == 4 else 'double'}({name})"
    if kind.kind == "struct":
        return f"(uint64_t)(uintptr_t)&{name}"
    if kind.kind in ("pointer", "handle"):
        return f"(uint64_t)(uintptr_t){name}"
    return f"(uint64_t){name}"


def _symbols(found: list[Function]) -> Iterator[str]:
    """The table of ``cuGetProcAddress``, sorted by name and version."""
    ordered = sorted(found, key=lambda row: (row.base, row.since))
    written = (f"{row.name}()" for row in ordered if row.name in WRITTEN)
    yield f"extern int {', '.join(written)};"
    yield "const struct gl_symbol gl_symbols[] = {"
    for row in ordered:
        own = f"(void *){row.name}_{row.per_thread}" if row.per_thread else "0"
        since = row.since[0] * 1000 + row.since[1] * 10
        yield f'    {{ "{row.base}", {since}, (void *){row.name}, {own} }},'
    yield "};"
    yield "const int gl_symbol_count = sizeof gl_symbols / sizeof *gl_symbols;"
