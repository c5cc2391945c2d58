"""Kernels for the Metal driver's tests, written by hand, without the code generator.

``kernel("values: ulong, n: uint", "if (i < n) at(values, i) += 1;")`` is an artifact with these
parameters. Its body knows ``i`` (the thread's number along x), ``block``, ``launch.grid``,
``at(address, index)``, a 32-bit word, and ``REPORT``, the address of the report block.
"""

from __future__ import annotations

from typing import Any

from gridlane.core import dtypes
from gridlane.core.artifact import Artifact, ParamSlot

SOURCE = """\
#include <metal_stdlib>
using namespace metal;
#pragma METAL fp math_mode(safe)

struct Launch {{
    uint base[3];
    uint grid[3];
    ulong report;
    uint dynamic_bytes;
}};
struct Params {{ {fields} }};
#define at(address, index) ((device uint*)(address))[index]
#define REPORT launch.report
kernel void k_main({arguments}
    constant Launch& launch [[buffer(1)]],{dynamic}
    uint3 thread_index [[thread_position_in_threadgroup]],
    uint3 block_index [[threadgroup_position_in_grid]],
    uint3 block_shape [[threads_per_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {{
    uint block[3] = {{block_index.x + launch.base[0], block_index.y + launch.base[1],
                     block_index.z + launch.base[2]}};
    uint i = block[0] * block_shape.x + thread_index.x;
    {body}
}}
"""
DYNAMIC = "\n    threadgroup uchar* dynamic_shared [[threadgroup(0)]],"
DTYPES = {"uint": dtypes.u32, "float": dtypes.f32, "ulong": None}


def kernel(params: str, body: str, **options: Any) -> Artifact:
    """An artifact with parameters ``"name: type, …"``, each naturally aligned."""
    slots, fields, end = [], [], 0
    for number, text in enumerate(filter(None, params.split(", "))):
        name, type_ = text.split(": ")
        size = 8 if DTYPES[type_] is None else 4
        end = -(-end // size) * size
        slots.append(ParamSlot(name, end, DTYPES[type_], number))
        end += size
        fields.append(f"{type_} {name};")
        body = f"{type_} {name} = params.{name};\n    {body}"
    source = SOURCE.format(
        fields=" ".join(fields),
        arguments="\n    constant Params& params [[buffer(0)]]," if fields else "",
        dynamic=DYNAMIC if options.get("uses_dynamic_shared") else "",
        body=body,
    )
    return Artifact("metal", "msl", source.encode(), "k_main", tuple(slots), end, **options)


ADD_ONE = "values: ulong, n: uint", "if (i < n) at(values, i) += 1;"
