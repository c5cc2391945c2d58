"""Four of the kernels as GLSL by hand, for the Vulkan driver: the peers of vulkan_glsl.py.

Arrays come as addresses in the parameter block, as compiled kernels get them, the block shape by
specialisation constants; of a grid that takes several dispatches each says where it begins.
glslangValidator (Debian: glslang-tools) makes SPIR-V.
"""

from __future__ import annotations

import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cases import BLOCKS, BODIES, MATRIX, THREADS, VECTOR
from gridlane.core.artifact import Artifact, ParamSlot
from gridlane.core.dtypes import u32

HEAD = """#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer In { float at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Out { float at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer In4 { vec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Out4 { vec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Params {
    PARAMS
};
layout(push_constant) uniform Launch { Params p; uint base_x, base_y; };
#define X ((gl_WorkGroupID.x + base_x) * gl_WorkGroupSize.x + gl_LocalInvocationID.x)
#define Y ((gl_WorkGroupID.y + base_y) * gl_WorkGroupSize.y + gl_LocalInvocationID.y)
"""

VECADD = """
void main() {
    uint i = X;
    if (i < p.n) p.c.at[i] = p.a.at[i] + p.b.at[i];
}
"""

NBODY = """
shared float tile[256][4];
void main() {
    uint i = X, t = gl_LocalInvocationID.x;
    vec3 here = vec3(p.bodies.at[4 * i], p.bodies.at[4 * i + 1], p.bodies.at[4 * i + 2]);
    vec3 sum = vec3(0.0);
    for (uint start = 0; start < p.n; start += 256) {
        for (uint k = 0; k < 4; k++) tile[t][k] = p.bodies.at[4 * (start + t) + k];
        barrier();
        for (uint j = 0; j < 256; j++) {
            vec3 d = vec3(tile[j][0], tile[j][1], tile[j][2]) - here;
            float inv = inversesqrt(dot(d, d) + 1e-3);
            sum += d * (tile[j][3] * inv * inv * inv);
        }
        barrier();
    }
    for (uint k = 0; k < 3; k++) p.acc.at[4 * i + k] = sum[k];
    p.acc.at[4 * i + 3] = 0.0;
}
"""

# Of vectors, which the kernel in Python has no word for.
NBODY_VEC4 = """
shared vec4 tile[256];
void main() {
    uint i = X, t = gl_LocalInvocationID.x;
    vec3 here = p.bodies.at[i].xyz, sum = vec3(0.0);
    for (uint start = 0; start < p.n; start += 256) {
        tile[t] = p.bodies.at[start + t];
        barrier();
        for (uint j = 0; j < 256; j++) {
            vec3 d = tile[j].xyz - here;
            float inv = inversesqrt(dot(d, d) + 1e-3);
            sum += d * (tile[j].w * inv * inv * inv);
        }
        barrier();
    }
    p.acc.at[i] = vec4(sum, 0.0);
}
"""

MATMUL = """
shared float tile_a[16][16], tile_b[16][16];
void main() {
    uint tx = gl_LocalInvocationID.x, ty = gl_LocalInvocationID.y;
    uint x = X, y = Y;
    float total = 0.0;
    for (uint start = 0; start < p.n; start += 16) {
        tile_a[ty][tx] = p.a.at[y * p.n + start + tx];
        tile_b[ty][tx] = p.b.at[(start + ty) * p.n + x];
        barrier();
        for (uint k = 0; k < 16; k++) total += tile_a[ty][k] * tile_b[k][tx];
        barrier();
    }
    p.c.at[y * p.n + x] = total;
}
"""

REDUCTION = """
shared float partial[256];
void main() {
    uint t = gl_LocalInvocationID.x, stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    float total = 0.0;
    for (uint i = X; i < p.n; i += stride) total += p.values.at[i];
    partial[t] = total;
    barrier();
    for (uint half_ = 128; half_ > 0; half_ >>= 1) {
        if (t < half_) partial[t] += partial[t + half_];
        barrier();
    }
    if (t == 0) p.sums.at[gl_WorkGroupID.x] = partial[0];
}
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """A kernel.

    Attributes:
        arrays: the fields of the parameter block before the number ``n``, as "type name".
        shape: of the result, which is the last of ``arrays``.
    """

    source: str
    arrays: tuple[str, ...]
    n: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shape: tuple[int, ...]


TILES = MATRIX // 16
PEERS = {
    "vecadd": Peer(
        VECADD, ("In a", "In b", "Out c"), VECTOR, (VECTOR // 256, 1, 1), (256, 1, 1), (VECTOR,)
    ),
    "nbody": Peer(
        NBODY, ("In bodies", "Out acc"), BODIES, (BODIES // 256, 1, 1), (256, 1, 1), (BODIES, 4)
    ),
    "nbody, vec4": Peer(
        NBODY_VEC4,
        ("In4 bodies", "Out4 acc"),
        BODIES,
        (BODIES // 256, 1, 1),
        (256, 1, 1),
        (BODIES, 4),
    ),
    "matmul": Peer(
        MATMUL,
        ("In a", "In b", "Out c"),
        MATRIX,
        (TILES, TILES, 1),
        (16, 16, 1),
        (MATRIX, MATRIX),
    ),
    "reduction": Peer(
        REDUCTION, ("In values", "Out sums"), VECTOR, (BLOCKS, 1, 1), (THREADS, 1, 1), (BLOCKS,)
    ),
}


def artifact(peer: Peer) -> Artifact:
    """The kernel's SPIR-V, for the driver."""
    fields = " ".join(f"{field};" for field in (*peer.arrays, "uint n"))
    source = HEAD.replace("PARAMS", fields) + peer.source
    slots = [ParamSlot(field, 8 * n, None, n) for n, field in enumerate(peer.arrays)]
    end = 8 * len(slots)
    slots.append(ParamSlot("n", end, u32, len(slots)))
    return Artifact("vulkan", "spirv", words(source), "main", tuple(slots), end + 8)


def words(source: str) -> bytes:
    """The SPIR-V of a shader."""
    with tempfile.TemporaryDirectory() as folder:
        code, made = Path(folder, "kernel.comp"), Path(folder, "kernel.spv")
        code.write_text(source)
        command = ["glslangValidator", "-V", "--target-env", "vulkan1.3", str(code)]
        done = subprocess.run([*command, "-o", str(made)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr + source)
        return made.read_bytes()


def launcher(device: Any, name: str, arrays: list[Any]) -> Any:
    """What launches a kernel with these arrays (the last one is the result) and waits for it."""
    peer = PEERS[name]
    bound = device.load(artifact(peer)).bind(peer.block)
    addresses = [array.address for array in arrays]
    params = struct.pack(f"<{len(addresses)}QI4x", *addresses, peer.n)

    def run() -> None:
        bound.launch(params, *peer.grid, 0)
        device.synchronize()

    return run
