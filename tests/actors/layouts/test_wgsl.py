"""WGSL: kernels on wgpu write and read each field; the bytes are numpy's."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests import on_shaders
from tests.actors.layouts.samples import (
    ALL,
    AWKWARD,
    SHORT,
    TINY,
    access,
    assert_same,
    families,
    spelled,
    values,
)
from tests.actors.layouts.tools import swapped
from tests.effort import examples

from gridlane.actors.layouts import wgsl
from gridlane.actors.layouts.blocks import BLOCKS, Clock, ControlBlock, MessageHeader
from gridlane.actors.layouts.names import Scope
from gridlane.actors.layouts.schema import Array, Layout, align_of, up

pytestmark = pytest.mark.skipif(
    "webgpu" not in on_shaders.found() and not os.environ.get("CI"), reason="no WebGPU"
)
KERNEL = """
@group(0) @binding(0) var<storage, read_write> memory: {struct};
@group(0) @binding(1) var<storage, read_write> seen: array<u32>;
@compute @workgroup_size(1) fn run() {{
    var it = memory;
{statements}
    memory = it;
}}
"""


@pytest.fixture(scope="module")
def device():
    import wgpu

    adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    return adapter.request_device_sync()


def run(device, code: str, layout: Layout, reads: int) -> tuple[np.ndarray, np.ndarray]:
    """(the structure's bytes, the words that were read) after a kernel."""
    import wgpu

    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
    sizes = (up(layout.size, 4), 4 * max(1, reads))
    buffers = [device.create_buffer(size=size, usage=usage) for size in sizes]
    pipeline = device.create_compute_pipeline(
        layout="auto",
        compute={"module": device.create_shader_module(code=code), "entry_point": "run"},
    )
    entries = [{"binding": n, "resource": {"buffer": each}} for n, each in enumerate(buffers)]
    group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
    encoder = device.create_command_encoder()
    work = encoder.begin_compute_pass()
    work.set_pipeline(pipeline)
    work.set_bind_group(0, group)
    work.dispatch_workgroups(1)
    work.end()
    device.queue.submit([encoder.finish()])
    memory, seen = (np.frombuffer(device.queue.read_buffer(each), np.uint8) for each in buffers)
    return memory, seen.view(np.uint32)


class Access:
    """The statements that write a scalar and read it back, found by walking the schema."""

    def __init__(self, path, layout: Layout, scope: Scope) -> None:
        whole, steps = "it", list(path)
        names = list(spelled(path, layout, scope))
        while steps:
            name, steps = steps[0], steps[1:]
            type_ = layout[name].type
            if align_of(type_) < 4:
                self.whole, self.title = whole, scope.struct(layout)
                rest = [name, *steps]
                self.name = "_".join(each for each in rest if isinstance(each, str))
                self.indices = [f"{each}u" for each in rest if isinstance(each, int)]
                self.is_packed = True
                return
            taken = 1 + (len(type_.shape) if isinstance(type_, Array) else 0)
            whole += access(tuple(names[:taken]))
            names, steps = names[taken:], steps[taken - 1 :]
            inner = type_.element if isinstance(type_, Array) else type_
            layout = inner if isinstance(inner, Layout) else layout
        self.whole, self.is_packed = whole, False

    def function(self, kind: str) -> str:
        return re.sub("_+", "_", f"{self.title}_{kind}_{self.name}")

    def written(self, leaf, value) -> str:
        if not self.is_packed:
            return f"{self.whole} = {literal(leaf, value)};"
        given = ", ".join(["&part", *self.indices, literal(leaf, value)])
        call = f"{self.function('set')}({given});"
        return f"{{ var part = {self.whole}; {call} {self.whole} = part; }}"

    def read(self, leaf, number: int) -> str:
        given = ", ".join(["&part", *self.indices])
        call = f"{self.function('get')}({given})"
        bits = f"select(0u, 1u, {call})" if leaf.dtype.kind == "b" else f"bitcast<u32>({call})"
        return f"{{ var part = {self.whole}; seen[{number}] = {bits}; }}"


def literal(leaf, value) -> str:
    if leaf.dtype.kind == "b":
        return "true" if value else "false"
    if leaf.dtype.itemsize == 8:
        low, high = np.array([value], leaf.dtype).view(np.uint32)
        return f"vec2<u32>({low}u, {high}u)"
    if leaf.dtype == np.float16:
        return f"{value.view(np.uint16)}u"
    if leaf.dtype.kind == "f":
        return f"{float(value)!r}f"
    return f"bitcast<i32>({int(value) & 0xFFFFFFFF}u)" if leaf.dtype.kind == "i" else f"{value}u"


def word(leaf, value) -> int:
    """What reading a packed scalar gives, as 32 bits."""
    bits = value.view(np.uint16) if leaf.dtype == np.float16 else value
    return int(bits) & 0xFFFFFFFF


def shader(layout: Layout, scope: Scope, text: str) -> tuple[str, list[int]]:
    """A kernel that writes each scalar, and the words that it reads back from packed ones."""
    statements, wanted = [], []
    for leaf, value in values(layout):
        statements.append(Access(leaf.path, layout, scope).written(leaf, value))
    for leaf, value in values(layout):
        place = Access(leaf.path, layout, scope)
        if place.is_packed:
            statements.append(place.read(leaf, len(wanted)))
            wanted.append(word(leaf, value))
    struct = scope.struct(layout)
    code = text + KERNEL.format(struct=struct, statements="\n".join(statements))
    if not wanted:
        code = code.replace("    var it", "    seen[0] = 0u;\n    var it")
    return code, wanted


def assert_written(device, layout: Layout, scope: Scope, text: str) -> None:
    code, wanted = shader(layout, scope, text)
    memory, seen = run(device, code, layout, len(wanted))
    assert_same(memory, layout)
    assert seen.tolist()[: len(wanted)] == wanted


@pytest.mark.parametrize("layout", ALL, ids=str)
def test_kernels_write_and_read_each_field(device, layout: Layout) -> None:
    assert_written(device, layout, wgsl.scope_of(ALL), wgsl.text(ALL))


def test_another_order_is_seen(device) -> None:
    text, scope = wgsl.text([ControlBlock]), wgsl.scope_of([ControlBlock])
    with pytest.raises(AssertionError, match="received"):
        assert_written(device, ControlBlock, scope, swapped(text, " received:", " answered:"))
    with pytest.raises(AssertionError, match="version"):
        moved = wgsl.text([MessageHeader]).replace("let at = 0u;", "let at = 1u;")
        assert_written(device, MessageHeader, wgsl.scope_of([MessageHeader]), moved)


def test_sizes_are_those_of_the_layouts(device) -> None:
    """The stride of an array on the device is the size, or that in whole words."""
    import wgpu

    parts = [wgsl.text(ALL)]
    for layout in ALL:
        struct = wgsl.scope_of(ALL).struct(layout)
        code = f"@group(0) @binding(0) var<storage, read_write> memory: array<{struct}, 3>;\n"
        code += "@compute @workgroup_size(1) fn run() { memory[2] = memory[1]; }\n"
        pipeline = device.create_compute_pipeline(
            layout="auto",
            compute={
                "module": device.create_shader_module(code=parts[0] + code),
                "entry_point": "run",
            },
        )
        exact, less = 3 * up(layout.size, 4), 3 * up(layout.size, 4) - 4
        assert dispatched(device, pipeline, exact)
        with pytest.raises(wgpu.GPUValidationError):
            dispatched(device, pipeline, less)


def dispatched(device, pipeline, size: int) -> bool:
    """Run a pipeline on a buffer, which WebGPU refuses if it is smaller than the type."""
    import wgpu

    buffer = device.create_buffer(size=size, usage=wgpu.BufferUsage.STORAGE)
    entry = {"binding": 0, "resource": {"buffer": buffer, "size": size}}
    group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=[entry])
    encoder = device.create_command_encoder()
    work = encoder.begin_compute_pass()
    work.set_pipeline(pipeline)
    work.set_bind_group(0, group)
    work.dispatch_workgroups(1)
    work.end()
    device.queue.submit([encoder.finish()])
    return True


@settings(
    max_examples=examples(2, 30),
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)
@given(families(9))
def test_random_layouts(device, made) -> None:
    assert_written(device, made[-1], wgsl.scope_of(made), wgsl.text(made))


def test_an_index_that_is_too_large_takes_the_last_element(device) -> None:
    code = wgsl.text([SHORT]) + KERNEL.format(
        struct="Short", statements="Short_set_tiny_mark(&it, 9u, 77u);\nseen[0] = 0u;"
    )
    memory, _ = run(device, code, SHORT, 1)
    assert memory.nonzero()[0].tolist() == [SHORT["tiny"].offset + TINY.size + 2]


def test_a_value_that_is_too_large_wraps(device) -> None:
    code = wgsl.text([TINY]) + KERNEL.format(
        struct="Tiny",
        statements="Tiny_set_level(&it, -129);\nseen[0] = bitcast<u32>(Tiny_get_level(&it));",
    )
    memory, seen = run(device, code, TINY, 1)
    assert memory.tolist() == [0, 127, 0, 0] and seen.tolist() == [127]


def test_names_that_wgsl_reserves() -> None:
    names = wgsl.scope_of([AWKWARD]).members(AWKWARD)[1]
    assert names["type"] == "type_" and names["uint"] == "uint"
    assert "struct array_ {" in wgsl.text([Layout("array", Clock.fields)])
    assert "in words of 4" in wgsl.text([TINY]) and "in words" not in wgsl.text(BLOCKS)
