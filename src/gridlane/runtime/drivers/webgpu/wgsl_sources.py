"""WGSL of the driver's own, by ``core.shader_abi``, and naga's messages about invalid texts."""

from __future__ import annotations

import re

from gridlane.runtime.drivers.single_buffer.recorder import THREADS

_MOVE = f"""
@group(0) @binding(0) var<storage, read_write> heap: array<u32>;
@group(0) @binding(1) var<storage, read> params: array<u32>;
@group(0) @binding(2) var<storage, read> launch: array<u32>;
SOURCE

@compute @workgroup_size({THREADS})
fn move_bytes(
    @builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>
) {{
    let end = params[0] + params[2];
    let at = (params[0] >> 2u) + (block.x + launch[0]) * {THREADS}u + thread.x;
    let start = at * 4u;
    if (at > ((end - 1u) >> 2u)) {{
        return;
    }}
    var keep = 0u;
    if (start < params[0]) {{
        keep = ~(0xffffffffu << ((params[0] - start) * 8u));
    }}
    if (end - start < 4u) {{
        keep |= 0xffffffffu << ((end - start) * 8u);
    }}
    var word = params[3];
    if (params[1] != 0u) {{
        let source = params[1] + start - params[0];
        let shift = (source & 3u) * 8u;
        word = FROM[source >> 2u];
        if (shift != 0u) {{
            word = (word >> shift) | (FROM[(source >> 2u) + 1u] << (32u - shift));
        }}
    }}
    if (keep != 0u) {{
        word = (heap[at] & keep) | (word & ~keep);
    }}
    heap[at] = word;
}}
"""
_SOURCE = "@group(0) @binding(3) var<storage, read_write> heap1: array<u32>;"
# See single_buffer/transfers.py.
MOVE = _MOVE.replace("SOURCE\n", "").replace("FROM", "heap")
MOVE_BETWEEN = _MOVE.replace("SOURCE", _SOURCE).replace("FROM", "heap1")

_PLACE = re.compile(r"wgsl:(\d+):(\d+)")


def complaint(text: str, said: str) -> str:
    """The compiler's message, with the line of the text that it refers to."""
    what = next((line for line in said.splitlines() if "error:" in line), "")
    what = what.partition("error:")[2].strip() or " ".join(said.split())
    place = _PLACE.search(said)
    if place is None:
        return what
    number, lines = int(place[1]), text.splitlines()
    shown = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    return f"{what}, in line {number} of the WGSL: {shown}"
