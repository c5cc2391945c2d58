"""Headers of CUDA for C and C++ from the table: types, and the functions of each library."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from gridlane.abi.calls.runtime.properties import OLD_MEMBERS
from gridlane.abi.library.stubs import rows
from gridlane.core.cuda_table import aliases, callbacks, constants, enums
from gridlane.core.cuda_table.functions import Api
from gridlane.core.cuda_table.structs import Node, nodes

_ERRORS = {"driver": "CUresult", "runtime": "cudaError_t", "nvrtc": "nvrtcResult"}
_VERSIONS = {"driver": "CUDA_VERSION", "runtime": "CUDART_VERSION"}
_BEFORE = {"driver": ("#define __cuda_cuda_h__",), "runtime": ('#include "gridlane/guards.h"',)}
_BEHIND = {
    "driver": ('#include "gridlane/driver_forms.h"',),
    "runtime": ('#include "gridlane/old_names.h"',),
}
_VECTORS = ("uint3", "dim3")
"""Structures of vector_types.h, which have constructors in C++."""
_RESERVED = "int reserved[56]"
"""The end of CUDA 13's cudaDeviceProp, where CUDA 12's members lie."""
_HANDLES = {
    "CU_STREAM_LEGACY": "CUstream",
    "CU_STREAM_PER_THREAD": "CUstream",
    "cudaStreamLegacy": "cudaStream_t",
    "cudaStreamPerThread": "cudaStream_t",
    "CU_LAUNCH_PARAM_END": "void *",
    "CU_LAUNCH_PARAM_BUFFER_POINTER": "void *",
    "CU_LAUNCH_PARAM_BUFFER_SIZE": "void *",
}
"""Constants that are pointers."""


def types() -> str:
    """The types and constants of all libraries, without shapes of launches: programs of the driver
    have types of their own by the names of vectors."""
    lines = ["#pragma once", "#include <stddef.h>", "#include <stdint.h>", ""]
    structs = _structs(with_shapes=False)
    for parts in (_forward(), _enums(), _aliases(), _callbacks(), structs, _constants()):
        lines += [*parts, ""]
    return "\n".join(lines)


def shapes() -> str:
    """The runtime's structures with the shapes of a launch."""
    heads = ("#pragma once", '#include "gridlane_types.h"', '#include "vector_types.h"', "")
    return "\n".join((*heads, *_structs(with_shapes=True), ""))


def functions_of(api: Api, major: int) -> str:
    """The functions of a library."""
    needed = "gridlane_shapes.h" if api == "runtime" else "gridlane_types.h"
    lines = ["#pragma once", f'#include "{needed}"', ""]
    lines += _BEFORE.get(api, ())
    if api in _VERSIONS:
        lines.append(f"#define {_VERSIONS[api]} {1000 * major}")
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif"]
    for row in rows(api, major):
        given = ", ".join(_declared(each.type, each.name) for each in row.parameters) or "void"
        lines.append(f"{row.result or _ERRORS[api]} {row.name}({given});")
    lines += _of_threads(api, major)
    lines += ["#ifdef __cplusplus", "}", "#endif"]
    lines += _BEHIND.get(api, ())
    # A plain name is the newest version; older ones are declared above under their own names.
    for row in rows(api, major):
        if row.outs is not None and row.name != row.base:
            lines.append(f"#define {row.base} {row.name}")
    lines.append("")
    return "\n".join(lines)


def _of_threads(api: Api, major: int) -> Iterator[str]:
    """The forms for the default stream of a thread, and the macros that replace the other forms by
    them."""
    threaded = [row for row in rows(api, major) if row.per_thread]
    if not threaded:
        return
    yield "#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM"
    for row in threaded:
        given = ", ".join(_declared(each.type, each.name) for each in row.parameters)
        yield f"{row.result or _ERRORS[api]} {row.name}_{row.per_thread}({given});"
    for row in threaded:
        yield f"#define {row.name} {row.name}_{row.per_thread}"
    yield "#endif"


def _declared(kind: str, name: str) -> str:
    if "(*)" in kind:
        return kind.replace("(*)", f"(*{name})")
    text, bracket, dims = kind.partition("[")
    return f"{text}{'' if text.endswith('*') else ' '}{name}{bracket}{dims}"


def _forward() -> Iterator[str]:
    """All tags and names of structures, and those of opaque objects."""
    done: set[str] = set()
    for node, names in nodes().values():
        keyword = node.text.split()[0]
        for name in names:
            if "@" not in name and name not in done:
                done.add(name)
                yield f"typedef {keyword} {names[0].partition('@')[0]} {name};"
    for of in aliases().values():
        tag = of.removesuffix("*").replace("const", "").strip()
        if of.endswith("*") and tag not in done:
            done.add(tag)
            yield f"typedef struct {tag} {tag};"


def _enums() -> Iterator[str]:
    done: set[str] = set()
    for each in enums().values():
        tag = each.names[0]
        if tag in done:
            continue
        done.add(tag)
        yield f"enum {tag} {{"
        yield from (f"    {name} = {value}," for name, value in each.values.items())
        yield "};"
        yield from (f"typedef enum {tag} {name};" for name in each.names)


def _aliases() -> Iterator[str]:
    for name, of in aliases().items():
        yield f"typedef {of} {name};"


def _callbacks() -> Iterator[str]:
    yield from (f"typedef {each.prototype};" for each in callbacks().values())


def _structs(with_shapes: bool) -> Iterator[str]:
    shaped = _shaped()
    done: set[str] = {*_VECTORS}
    for node, names in nodes().values():
        if names[0] in done or "@" in names[0] or (names[0] in shaped) != with_shapes:
            continue
        done.add(names[0])
        yield from _members(node, names[0], "")
        yield "};"


@cache
def _shaped() -> frozenset[str]:
    """The tags of structures that contain the shape of a launch, directly or nested."""
    shaped = {*_VECTORS}
    before = 0
    while before < len(shaped):
        before = len(shaped)
        for node, names in nodes().values():
            if any(each in shaped for each in _words(node)):
                shaped |= {*names}
    return frozenset(shaped)


def _words(node: Node) -> Iterator[str]:
    """The types of the members that are not pointers."""
    for each in node.members:
        yield from _words(each) if each.members else each.text.split()[:-1]


def _members(node: Node, tag: str, indent: str) -> Iterator[str]:
    tokens = node.text.split()
    stated = next((each for each in tokens if each.startswith("align(")), "")
    attribute = f"__attribute__((aligned{stated.removeprefix('align')})) " if stated else ""
    yield f"{indent}{tokens[0]} {attribute}{tag}{' ' if tag else ''}{{"
    for member in node.members:
        if member.members:
            yield from _members(member, "", f"{indent}    ")
            yield f"{indent}    }} {member.text.partition(' ')[2]};"
        elif tag == "cudaDeviceProp" and member.text == _RESERVED:
            yield from (f"{indent}    int {name};" for name in OLD_MEMBERS)
            yield f"{indent}    int reserved[{56 - len(OLD_MEMBERS)}];"
        else:
            yield f"{indent}    {member.text};"


_ATTRIBUTES = {
    **dict.fromkeys(
        ("cudaStreamAttribute", "cudaKernelNodeAttribute"), "enum cudaLaunchAttributeID"
    ),
    **dict.fromkeys(("CU_STREAM_ATTRIBUTE_", "CU_KERNEL_NODE_ATTRIBUTE_"), "CUlaunchAttributeID"),
}
"""The prefixes of constants of an enumeration, which C++ distinguishes from numbers."""


def _constants() -> Iterator[str]:
    for name, value in constants().items():
        of = next((kind for start, kind in _ATTRIBUTES.items() if name.startswith(start)), None)
        cast = _HANDLES.get(name) or of
        yield f"#define {name} {f'(({cast})({value}))' if cast else f'({value})'}"
