"""Kernels by hand in both languages, by ``core.shader_abi``.

A body is written in what the languages share, with a few words for what they spell each in its
way: ``VAR x = 1u;`` declares a variable, ``BARRIER;`` is a barrier. It finds ``thread`` and
``block`` (of the user's grid), ``i``, the number of its thread along x, and its parameters by their
names; a pointer is a place in ``heap``, which counts words.
"""

from __future__ import annotations

from gridlane.core.artifact import Artifact, ParamSlot
from gridlane.core.dtypes import f32, u32

_GLSL = """{version}
#ifndef DYNAMIC_WORDS
#define DYNAMIC_WORDS 0
#endif
layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;
layout(std430, binding = 0) coherent buffer Heap {{ uint heap[]; }};
layout(std430, binding = 1) readonly buffer Params {{ uint params[]; }};
layout(std430, binding = 2) readonly buffer Launch {{ uint launch[]; }};
shared uint tile[1 + {words} + DYNAMIC_WORDS];
void main() {{
    uvec3 thread = gl_LocalInvocationID;
    uvec3 block = gl_WorkGroupID + uvec3(launch[0], launch[1], launch[2]);
"""
_WGSL = """{override}
@group(0) @binding(0) var<storage, read_write> heap: array<u32>;
@group(0) @binding(1) var<storage, read> params: array<u32>;
@group(0) @binding(2) var<storage, read> launch: array<u32>;
var<workgroup> tile: array<u32, {words}>;
@compute @workgroup_size({x}, {y}, {z})
fn run(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {{
    let block = group + vec3<u32>(launch[0], launch[1], launch[2]);
"""
VERSIONS = {
    "": "#version 430 core",
    "es": "#version 310 es\nprecision highp float;\nprecision highp int;",
}


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
    dynamic, engine = more.get("uses_dynamic_shared", False), device.engine
    x, y, z = block
    text = "\n".join((f"VAR i = block.x * {x}u + thread.x;", *names, body, "}"))
    if engine.format == "wgsl":
        count = f"{words + 1} + dynamic_words" if dynamic else words + 1
        override = "override dynamic_words: u32;" if dynamic else ""
        head, entry = _WGSL.format(x=x, y=y, z=z, words=count, override=override), "run"
        text = text.replace("VAR ", "var ").replace("BARRIER", "workgroupBarrier()")
    else:
        version = VERSIONS["es" if "es" in engine.features else ""]
        head, entry = _GLSL.format(x=x, y=y, z=z, words=words, version=version), "main"
        text = text.replace("VAR ", "uint ").replace("BARRIER", "barrier()")
    more = {"param_bytes": at, "block": block, "static_shared": 4 * (words + 1), **more}
    code = (head + text).encode()
    return Artifact(engine.target, engine.format, code, entry, tuple(slots), **more)


ADD_ONE = "values: ptr, n: u32", "if (i < n) { heap[values + i] = heap[values + i] + 1u; }"
