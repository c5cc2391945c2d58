"""GLSL of the driver's own, by ``core.shader_abi``, and the messages of GLSL compilers."""

from __future__ import annotations

import re

from gridlane.runtime.drivers.single_buffer.recorder import THREADS
from gridlane.runtime.drivers.single_buffer.sources import moving, with_line

DESKTOP = "#version 430 core"
EMBEDDED = "#version 310 es\nprecision highp float;\nprecision highp int;"

_HEAD_OF_MOVE = f"""
layout(local_size_x = {THREADS}) in;
layout(std430, binding = 0) coherent buffer Heap {{ uint heap[]; }};
layout(std430, binding = 1) readonly buffer Params {{ uint params[]; }};
layout(std430, binding = 2) readonly buffer Launch {{ uint launch[]; }};
SOURCE

void main() {{
"""
MOVE, MOVE_BETWEEN = moving(
    _HEAD_OF_MOVE,
    f"(gl_WorkGroupID.x + launch[0]) * {THREADS}u + gl_LocalInvocationID.x",
    "uint",
    "uint",
    "layout(std430, binding = 3) coherent buffer Heap1 { uint heap1[]; };",
)

# Mesa says 0:12(5): error: …, NVIDIA 0(12) : error …, others ERROR: 0:12: …
_PLACE = re.compile(r"^(?:ERROR: )?\d+[:(](\d+)\)?", re.MULTILINE)


def with_dynamic(text: str, count: int) -> str:
    """Declare so many words of dynamic shared memory in a text."""
    first, _, rest = text.partition("\n")
    return f"{first}\n#define DYNAMIC_WORDS {count}\n{rest}"


def complaint(text: str, said: str) -> str:
    """The compiler's message, with the line of the text that it refers to."""
    what = next((line for line in said.splitlines() if "error" in line.lower()), said).strip()
    return with_line(what, _PLACE.search(what), text, "GLSL")


_HEAD = re.compile(r"^\w+ (\w+)\([^;]*\) \{$")
_NAME = re.compile(r"\w+(?=\()")


def inlined_lines(text: str) -> int:
    """Count the lines of a generated text after every call is inlined, as compilers do.

    >>> inlined_lines("float f(float x) {\\n    return x;\\n}\\nvoid main() {\\n    f(f(1.0));\\n}")
    9
    """
    lines: dict[str, int] = {}
    total, name = 0, ""
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head:
            name, total = head[1], 0
        total += 1 + sum(lines.get(called, 0) for called in _NAME.findall(line) if not head)
        if line == "}" and name:
            lines[name], name = total, ""
    return lines.get("main", total)
