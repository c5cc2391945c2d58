"""CUDA's headers for C and C++ from the table: types, and the functions of each library.

Kernels of CUDA C++ and programs for the C libraries read the same text. C++'s own forms, templates
and overloads, are rows of ``forms.txt``; what these do not say is in files beside the headers, in
``frontends/cuda_cpp/include/gridlane``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from gridlane.core.cuda_table.forms import forms
from gridlane.core.cuda_table.functions import Api, Function, exported
from gridlane.core.cuda_table.layout import layout
from gridlane.core.cuda_table.names import aliases, callbacks, constants, enums
from gridlane.core.cuda_table.structs import Node, nodes

NAMES = (
    "gridlane_types.h",
    "gridlane_driver_types.h",
    "gridlane_shapes.h",
    "gridlane_forms.h",
    "cuda_runtime_api.h",
    "cuda.h",
    "nvrtc.h",
)
"""The names of the headers."""
_ERRORS = {"driver": "CUresult", "runtime": "cudaError_t", "nvrtc": "nvrtcResult"}
_VERSIONS = {"driver": "CUDA_VERSION", "runtime": "CUDART_VERSION"}
_BEFORE = {
    "driver": ("#define __cuda_cuda_h__",),
    "runtime": ('#include "gridlane/guards.h"',),
    "nvrtc": ("#define __NVRTC_H__",),
}
_BEHIND = {
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


def headers() -> dict[str, str]:
    """All generated headers by their names. The functions are those of CUDA 13, with which C++ has
    CUDA 12's forms as well."""
    texts = (
        _types("runtime", "<stddef.h>", "<stdint.h>"),
        _types("driver", '"gridlane_types.h"'),
        _shapes(),
        "\n".join(("#pragma once", *forms("runtime", 13, _ERRORS["runtime"]), "")),
        _functions("runtime", 13, '#include "gridlane_shapes.h"'),
        _functions("driver", 13, '#include "gridlane_driver_types.h"'),
        _functions("nvrtc", 13, *_types("nvrtc", "<stddef.h>").split("\n")[1:-1]),
    )
    return dict(zip(NAMES, texts, strict=True))


def key() -> str:
    """A digest of what the headers are made from."""
    room = Path(__file__).parent
    hash_state = hashlib.sha256()
    for path in (*sorted(room.glob("*.txt")), *sorted(room.glob("*.py"))):
        hash_state.update(path.read_bytes())
    return hash_state.hexdigest()[:16]


def _types(api: Api, *needed: str) -> str:
    """The types and constants of a library, without shapes of launches: programs of the driver have
    types of their own by the names of vectors."""
    lines = ["#pragma once", *(f"#include {each}" for each in needed), ""]
    structs = _structs(api, with_shapes=False)
    parts = _forward(api), _enums(api), _aliases(api), _callbacks(api), structs, _constants(api)
    for part in parts:
        lines += [*part, ""]
    return "\n".join(lines)


def _shapes() -> str:
    """The runtime's structures with the shapes of a launch."""
    heads = ("#pragma once", '#include "gridlane_types.h"', '#include "vector_types.h"', "")
    return "\n".join((*heads, *_structs("runtime", with_shapes=True), ""))


def _owner(name: str) -> Api:
    """The library of a type or constant, by the last of its names."""
    if name.startswith(("nvrtc", "NVRTC")):
        return "nvrtc"
    return "driver" if name.startswith(("CU", "cuuint")) else "runtime"


def _functions(api: Api, major: int, *needed: str) -> str:
    """The functions of a library."""
    lines = ["#pragma once"]
    if api in _VERSIONS:  # before the types, which differ by it
        version = _VERSIONS[api]
        lines += [f"#ifndef {version}", f"#define {version} {1000 * major}", "#endif"]
    lines += [*needed, "", *_BEFORE.get(api, ())]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif"]
    for row in exported(api, major):
        lines.append(_declared(row, row.name))
    lines += _of_threads(api, major)
    lines += ["#ifdef __cplusplus", "}", "#endif"]
    lines += _BEHIND.get(api, ())
    if api == "driver":
        lines += ["#ifdef __cplusplus", *forms(api, major, _ERRORS[api]), "#endif"]
    # A plain name is the newest version; older ones are declared above under their own names.
    for row in exported(api, major):
        if row.outs is not None and row.name != row.base:
            lines.append(f"#define {row.base} {row.name}")
    lines.append("")
    return "\n".join(lines)


def _of_threads(api: Api, major: int) -> Iterator[str]:
    """The forms for the default stream of a thread, and the macros that replace the other forms by
    them."""
    threaded = [row for row in exported(api, major) if row.per_thread]
    if not threaded:
        return
    yield "#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM"
    for row in threaded:
        yield _declared(row, f"{row.name}_{row.per_thread}")
    for row in threaded:
        yield f"#define {row.name} {row.name}_{row.per_thread}"
    yield "#endif"


def _declared(row: Function, name: str) -> str:
    """The declaration, without the names of parameters: programs have macros of such names."""
    given = ", ".join(each.type for each in row.parameters) or "void"
    return f"{row.result or _ERRORS[row.api]} {name}({given});"


def _forward(api: Api) -> Iterator[str]:
    """All tags and names of structures, and those of opaque objects."""
    done = _tags("runtime") if api == "driver" else set[str]()
    for node, names in nodes().values():
        keyword = node.text.split()[0]
        for name in names if _owner(names[-1]) == api else ():
            if "@" not in name and name not in done:
                done.add(name)
                yield f"typedef {keyword} {names[0].partition('@')[0]} {name};"
    for tag in sorted(_tags(api) - done):
        yield f"typedef struct {tag} {tag};"


def _tags(api: Api) -> set[str]:
    """The tags of a library's opaque objects."""
    named = (of for name, of in aliases().items() if of.endswith("*") and _owner(name) == api)
    return {of.removesuffix("*").replace("const", "").strip() for of in named}


def _enums(api: Api) -> Iterator[str]:
    done: set[str] = set()
    for each in enums().values():
        tag = each.names[0]
        if tag in done or _owner(each.names[-1]) != api:
            continue
        done.add(tag)
        yield f"enum {tag} {{"
        after = 0
        for name, value in {**each.values, **each.later}.items():
            yield f"    {name}," if value == after else f"    {name} = {value},"
            after = value + 1
        yield "};"
        yield from (f"typedef enum {tag} {name};" for name in each.names)


def _aliases(api: Api) -> Iterator[str]:
    for name, of in aliases().items():
        if _owner(name) == api:
            yield f"typedef {of} {name};"


def _callbacks(api: Api) -> Iterator[str]:
    for each in callbacks().values():
        if _owner(each.name) == api:
            yield f"typedef {each.prototype};"


def _structs(api: Api, with_shapes: bool) -> Iterator[str]:
    shaped = _shaped()
    done: set[str] = {*_VECTORS}
    for node, names in nodes().values():
        tag = names[0]
        if tag in done or "@" in tag or _owner(names[-1]) != api or (tag in shaped) != with_shapes:
            continue
        done.add(tag)
        old, _ = nodes().get(f"{tag}@12", (node, ()))
        if _alignment(old) == _alignment(node):
            yield from _members(node, tag, "")
        else:
            text, *members = _members(node, tag, "")
            yield "#if defined CUDA_VERSION && CUDA_VERSION < 13000"
            yield text.replace(_alignment(node), _alignment(old))
            yield from ("#else", text, "#endif", *members)
        yield "};"


def _alignment(node: Node) -> str:
    """The alignment that a structure has by declaration, as in C; "" for none."""
    stated = next((each for each in node.text.split() if each.startswith("align(")), "")
    return f"__attribute__((aligned{stated.removeprefix('align')})) " if stated else ""


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


def old_members() -> tuple[str, ...]:
    """The members of ``cudaDeviceProp``, one int each, that CUDA 13 took out. The headers have them
    where CUDA 13's structure begins to be reserved."""
    there = layout("cudaDeviceProp").fields
    return tuple(name for name in layout("cudaDeviceProp@12").fields if name not in there)


def _words(node: Node) -> Iterator[str]:
    """The types of the members that are not pointers."""
    for each in node.members:
        yield from _words(each) if each.members else each.text.split()[:-1]


def _members(node: Node, tag: str, indent: str) -> Iterator[str]:
    keyword = node.text.split()[0]
    yield f"{indent}{keyword} {_alignment(node)}{tag}{' ' if tag else ''}{{"
    for member in node.members:
        if member.members:
            yield from _members(member, "", f"{indent}    ")
            yield f"{indent}    }} {member.text.partition(' ')[2]};"
        elif tag == "cudaDeviceProp" and member.text == _RESERVED:
            yield from (f"{indent}    int {name};" for name in old_members())
            yield f"{indent}    int reserved[{56 - len(old_members())}];"
        else:
            yield f"{indent}    {member.text};"


_ATTRIBUTES = {
    **dict.fromkeys(
        ("cudaStreamAttribute", "cudaKernelNodeAttribute"), "enum cudaLaunchAttributeID"
    ),
    **dict.fromkeys(("CU_STREAM_ATTRIBUTE_", "CU_KERNEL_NODE_ATTRIBUTE_"), "CUlaunchAttributeID"),
}
"""The prefixes of constants of an enumeration, which C++ distinguishes from numbers."""


def _constants(api: Api) -> Iterator[str]:
    for name, value in constants().items():
        if _owner(name) != api:
            continue
        of = next((kind for start, kind in _ATTRIBUTES.items() if name.startswith(start)), None)
        cast = _HANDLES.get(name) or of
        yield f"#define {name} {f'(({cast})({value}))' if cast else f'({value})'}"
