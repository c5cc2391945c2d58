"""Kernels by hand in the languages of the engines, by ``core.shader_abi``.

A body is written in what the languages share, with a few words for what they spell each in its
way: ``VAR x = 1u;`` declares a variable, ``BARRIER;`` is a barrier. It finds ``thread`` and
``block`` (of the user's grid), ``i``, the number of its thread along x, and its parameters by their
names; a pointer is a place in ``heap``, which counts words.
"""

from __future__ import annotations

from typing import NamedTuple

from gridlane.core.artifact import Artifact, ParamSlot
from gridlane.core.dtypes import f32, u32
from gridlane.core.shader_abi import heap_binding


class Language(NamedTuple):
    """A language of engines.

    Attributes:
        entry: the name of the kernel.
        variable, barrier: what ``VAR`` and ``BARRIER`` are in it.
        heap: the declaration of the buffer ``heap{n}``, at its ``{binding}``.
        head: the text before the body, with ``{heaps}`` of these, the block ``{x}``, ``{y}``,
            ``{z}``, and ``tile`` of ``{words}`` words and the dynamic ones.
    """

    entry: str
    variable: str
    barrier: str
    heap: str
    head: str


_GLSL = Language(
    "main",
    "uint",
    "barrier()",
    "layout(std430, binding = {binding}) coherent buffer Heap{n} {{ uint heap{n}[]; }};\n",
    """
#ifndef DYNAMIC_WORDS
#define DYNAMIC_WORDS 0
#endif
layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;
layout(std430, binding = 0) coherent buffer Heap {{ uint heap[]; }};
layout(std430, binding = 1) readonly buffer Params {{ uint params[]; }};
layout(std430, binding = 2) readonly buffer Launch {{ uint launch[]; }};
{heaps}shared uint tile[{words} + DYNAMIC_WORDS];
void main() {{
    uvec3 thread = gl_LocalInvocationID;
    uvec3 block = gl_WorkGroupID + uvec3(launch[0], launch[1], launch[2]);
""",
)
_ES = "#version 310 es\nprecision highp float;\nprecision highp int;"
LANGUAGES = {
    "wgsl": Language(
        "run",
        "var",
        "workgroupBarrier()",
        "@group(0) @binding({binding}) var<storage, read_write> heap{n}: array<u32>;\n",
        """override dynamic_words: u32 = 0;
@group(0) @binding(0) var<storage, read_write> heap: array<u32>;
@group(0) @binding(1) var<storage, read> params: array<u32>;
@group(0) @binding(2) var<storage, read> launch: array<u32>;
{heaps}var<workgroup> tile: array<u32, {words} + dynamic_words>;
@compute @workgroup_size({x}, {y}, {z})
fn run(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {{
    let block = group + vec3<u32>(launch[0], launch[1], launch[2]);
""",
    ),
    "glsl": _GLSL._replace(head="#version 430 core" + _GLSL.head),
    "glsl es": _GLSL._replace(head=_ES + _GLSL.head),
}
"""By the engine's ``format``, and ``es`` where that is one of its features."""


def kernel(device, params: str, body: str, block=(64, 1, 1), words: int = 0, **more) -> Artifact:
    """An artifact for a device.

    Args:
        params: ``"values: ptr, n: u32, x: f32"``; floats are found as their bits.
        words: u32 of shared memory, the array ``tile``; where dynamic ones follow, one more.
        more: other fields of the artifact.
    """
    slots, names, at = [], [], 0
    for n, text in enumerate(filter(None, params.split(", "))):
        name, _, kind = text.partition(": ")
        size = 8 if kind == "ptr" else 4
        at = -(-at // size) * size
        slots.append(ParamSlot(name, at, {"ptr": None, "u32": u32, "f32": f32}[kind], n))
        names.append(f"VAR {name} = params[{at // 4}]{' >> 2u' if kind == 'ptr' else ''};")
        at += size
    engine, (x, y, z) = device.engine, block
    language = LANGUAGES[engine.format + " es" * ("es" in engine.features)]
    heaps = "".join(
        language.heap.format(n=n, binding=heap_binding(n))
        for n in range(1, 1 + max(more.get("buffers", ()), default=0))
    )
    head = language.head.format(x=x, y=y, z=z, words=words + 1, heaps=heaps)
    text = "\n".join((f"VAR i = block.x * {x}u + thread.x;", *names, body, "}"))
    text = text.replace("VAR ", f"{language.variable} ").replace("BARRIER", language.barrier)
    more = {"param_bytes": at, "block": block, "static_shared": 4 * (words + 1), **more}
    code = (head + text).encode()
    return Artifact(engine.target, engine.format, code, language.entry, tuple(slots), **more)


ADD_ONE = "values: ptr, n: u32", "if (i < n) { heap[values + i] = heap[values + i] + 1u; }"
