"""Translate MSL text to C++: each kernel with an entry function of C."""

from __future__ import annotations

import re

from gridlane.core.frozen import frozen

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
_OPENING = re.compile(r"\s*#include <metal_stdlib>\s*using namespace metal;\n")
_KERNEL = re.compile(r"^kernel void (\w+)\(([^{]*)\) \{", re.M)
_ARGUMENT = re.compile(r"\s*(.+?)(\w+) \[\[(\w+)(?:\((\d+)\))?\]\]\s*$", re.S)
_SHARED = re.compile(r"^( +)threadgroup (\w+) (\w+)\[(\d+)\];$", re.M)
_STATIC = 'extern "C" const unsigned long {0}_static; const unsigned long {0}_static'
_WAITING = re.compile(r"\b(?:threadgroup_barrier|simd_\w+|simdgroup_\w+)\s*\(")
OWN_ARRAYS = 31
"""The numbers of a kernel's own arrays start after those of its threadgroup arguments."""

_POSITIONS = {
    "thread_position_in_threadgroup": "thread_index",
    "threadgroup_position_in_grid": "block_index",
    "threads_per_threadgroup": "block_shape",
}


class RefusedTextError(Exception):
    """The text has a construct that the stand-in does not read."""


@frozen
class Argument:
    """A buffer or threadgroup argument: the number of its slot, and for a reference its type."""

    slot: int
    reference: str = ""


@frozen
class Kernel:
    """A kernel in a text.

    Attributes:
        entry: the C function's name.
        buffers, groups: arguments in buffer(n) and threadgroup(n).
        waits: whether its threads may wait for each other.
    """

    name: str
    entry: str
    buffers: tuple[Argument, ...]
    groups: tuple[Argument, ...]
    waits: bool


def as_cpp(text: str, space: str) -> tuple[str, list[Kernel]]:
    """Put a text into a namespace, with its entry functions; return it and its kernels.

    Raises:
        RefusedTextError: it is not a text of the form that gridlane emits.
    """
    opening = _OPENING.match(text)
    if opening is None:
        raise RefusedTextError("the text does not begin with <metal_stdlib> and its namespace")
    text = text[opening.end() :]
    source = text
    kernels = [_kernel(match, text, space) for match in _KERNEL.finditer(text)]
    numbers = iter(range(OWN_ARRAYS, 10_000))
    text = re.sub(r"\[\[(?:threadgroup|buffer)\(\d+\)\]\]", "", text)
    text = _SHARED.sub(lambda match: _shared(match, next(numbers)), text)
    static = " + ".join(f"sizeof({m[2]}) * {m[3 + 1]}" for m in _SHARED.finditer(source))
    entries = "\n".join(
        (f"{_STATIC.format(space)} = {static or 0};", *(each for _, each in kernels))
    )
    return f"namespace {space} {{\n{text}\n}}\n{entries}\n", [kernel for kernel, _ in kernels]


def _shared(match: re.Match[str], number: int) -> str:
    margin, type_, name, count = match.groups()
    memory = f"machine::shared_array({number}, sizeof({type_}) * {count})"
    return f"{margin}{type_} (&{name})[{count}] = *({type_}(*)[{count}]){memory};"


def _kernel(match: re.Match[str], text: str, space: str) -> tuple[Kernel, str]:
    name, entry = match[1], f"{space}_{match[1]}"
    buffers: list[Argument] = []
    groups: list[Argument] = []
    values: list[str] = []
    for part in filter(str.strip, match[2].split(",")):
        values.append(_value(part, name, space, buffers, groups))
    sizes = ", ".join(f"sizeof({each.reference})" if each.reference else "0" for each in buffers)
    code = (
        f'extern "C" {{\nextern const unsigned long {entry}_sizes[] = {{{sizes or 0}}};\n'
        f"void {entry}(void* const* buffers, void* const* groups, const machine::Lane& lane) {{\n"
        f"    {space}::{name}({', '.join(values)});\n}}\n}}"
    )
    waits = _WAITING.search(text) is not None
    return Kernel(name, entry, tuple(buffers), tuple(groups), waits), code


def _value(
    part: str, kernel: str, space: str, buffers: list[Argument], groups: list[Argument]
) -> str:
    """The expression that the entry function passes for an argument."""
    argument = _ARGUMENT.match(part)
    if argument is None:
        raise RefusedTextError(f"kernel {kernel}: the argument {part.strip()!r} has no attribute")
    type_, _, attribute, slot = argument.groups()
    tokens = [word for word in type_.replace("&", " & ").replace("*", " * ").split()]
    plain = [word for word in tokens if word not in ("device", "constant", "threadgroup", "const")]
    if attribute in ("buffer", "threadgroup"):
        listed = buffers if attribute == "buffer" else groups
        source = "buffers" if attribute == "buffer" else "groups"
        if plain[-1] == "&":
            whole = f"{space}::{plain[0]}"
            listed.append(Argument(int(slot), whole))
            return f"*({whole}*){source}[{slot}]"
        listed.append(Argument(int(slot)))
        return f"({' '.join(plain)}){source}[{slot}]"
    if attribute in _POSITIONS and plain == ["uint3"]:
        field = _POSITIONS[attribute]
        return "uint3{" + ", ".join(f"lane.{field}[{n}]" for n in range(3)) + "}"
    if attribute == "thread_index_in_simdgroup" and plain == ["uint"]:
        return "lane.lane"
    raise RefusedTextError(f"kernel {kernel}: {part.strip()!r} is not in the stand-in")
