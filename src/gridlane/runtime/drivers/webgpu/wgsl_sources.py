"""WGSL of the driver's own, by ``core.shader_abi``, and naga's messages about invalid texts."""

from __future__ import annotations

import re

from gridlane.runtime.drivers.single_buffer.recorder import THREADS
from gridlane.runtime.drivers.single_buffer.sources import moving, with_line

_HEAD_OF_MOVE = f"""
@group(0) @binding(0) var<storage, read_write> heap: array<u32>;
@group(0) @binding(1) var<storage, read> params: array<u32>;
@group(0) @binding(2) var<storage, read> launch: array<u32>;
SOURCE

@compute @workgroup_size({THREADS})
fn move_bytes(
    @builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>
) {{
"""
MOVE, MOVE_BETWEEN = moving(
    _HEAD_OF_MOVE,
    f"(block.x + launch[0]) * {THREADS}u + thread.x",
    "let",
    "var",
    "@group(0) @binding(3) var<storage, read_write> heap1: array<u32>;",
)

_PLACE = re.compile(r"wgsl:(\d+):(\d+)")


def complaint(text: str, said: str) -> str:
    """The compiler's message, with the line of the text that it refers to."""
    what = next((line for line in said.splitlines() if "error:" in line), "")
    what = what.partition("error:")[2].strip() or " ".join(said.split())
    return with_line(what, _PLACE.search(said), text, "WGSL")
