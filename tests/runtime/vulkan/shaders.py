"""Kernels for the Vulkan driver's tests, made from GLSL at test time, without the code generator.

``kernel("values: uint64_t, n: uint32_t", "if (i < n) at(values, i) += 1;")`` is an artifact with
these parameters. Its body knows ``i`` (the thread's number along x), ``block``, ``grid_x``,
``at(address, index)``, a 32-bit word, and ``REPORT``, the address of the report block.
"""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from gridlane.core import dtypes
from gridlane.core.artifact import Artifact, ParamSlot

SOURCE = """
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_atomic_int64 : require
{extensions}
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(constant_id = 3) const uint DYNAMIC_BYTES = 16;
layout(constant_id = 4) const uint WARPS = 0;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words {{ uint word[]; }};
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Params {{ {fields} }};
layout(push_constant) uniform Launch {{
    uint64_t params; uint base_x, base_y, base_z, grid_x, grid_y, grid_z;
    uint64_t REPORT; uint64_t unused;
}};
#define at(address, index) Words(address).word[index]
{globals}
void main() {{
    Params p = Params(params);
    uvec3 block = gl_WorkGroupID + uvec3(base_x, base_y, base_z);
    uint i = block.x * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    {names}
    {body}
}}
"""
FIXED = "layout(local_size_x = {}, local_size_y = {}, local_size_z = {}) in;"
DTYPES = {"uint32_t": dtypes.u32, "float": dtypes.f32, "uint64_t": None}


@cache
def words(source: str, target: str = "vulkan1.3") -> bytes:
    """SPIR-V of a shader that the validator accepts."""
    with tempfile.TemporaryDirectory() as folder:
        code, made = Path(folder, "kernel.comp"), Path(folder, "kernel.spv")
        code.write_text(source)
        for command in (
            ["glslangValidator", "-V", "--target-env", target, str(code), "-o", str(made)],
            ["spirv-val", "--scalar-block-layout", "--target-env", target, str(made)],
        ):
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr + source
        return made.read_bytes()


def kernel(
    params: str,
    body: str,
    globals: str = "",
    extensions: str = "",
    target: str = "vulkan1.3",
    fixed: tuple[int, int, int] | None = None,
    **options: Any,
) -> Artifact:
    """An artifact with parameters ``"name: type, …"``, each naturally aligned."""
    slots, names, fields, end = [], [], [], 0
    for number, text in enumerate(filter(None, params.split(", "))):
        name, type_ = text.split(": ")
        size = 8 if DTYPES[type_] is None else 4
        end = -(-end // size) * size
        slots.append(ParamSlot(name, end, DTYPES[type_], number))
        end += size
        fields.append(f"{type_} {name};")
        names.append(f"{type_} {name} = p.{name};")
    source = SOURCE.format(
        fields=" ".join(fields) or "uint nothing;",
        names=" ".join(names),
        body=body,
        globals=globals,
        extensions=extensions,
    )
    if fixed:
        first = source.index("layout(local_size_x_id")
        source = source[:first] + FIXED.format(*fixed) + source[source.index("\n", first) :]
    code = words(source.strip() + "\n", target)
    return Artifact("vulkan", "spirv", code, "main", tuple(slots), end, **options)


ADD_ONE = "values: uint64_t, n: uint32_t", "if (i < n) at(values, i) += 1;"
