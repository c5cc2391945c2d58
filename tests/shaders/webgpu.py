"""Runs WGSL on whatever adapter wgpu finds."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def device() -> Any:
    """A device, or None where wgpu finds no adapter."""
    try:
        import wgpu

        adapter = wgpu.gpu.request_adapter_sync(power_preference="low-power")
        return adapter.request_device_sync(
            required_limits={"max-compute-workgroup-storage-size": 32768}
        )
    except Exception:  # the library raises whatever it likes; what matters is that there is none
        return None


def dispatcher(source: str, entry: str, grid, shared: int):
    """A function that runs a shader; see ``heap.Dispatch``. A wrong shader raises here."""
    import wgpu

    gpu = device()
    module = gpu.create_shader_module(code=source)
    kinds = ("storage", "read-only-storage", "read-only-storage")
    entries = [
        {"binding": n, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": {"type": kind}}
        for n, kind in enumerate(kinds)
    ]
    group = gpu.create_bind_group_layout(entries=entries)
    stage = {"module": module, "entry_point": entry}
    if "dynamic_words" in source:
        stage["constants"] = {"dynamic_words": shared // 4}
    layout = gpu.create_pipeline_layout(bind_group_layouts=[group])
    pipeline = gpu.create_compute_pipeline(layout=layout, compute=stage)

    def dispatch(*blocks: bytes) -> bytes:
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
        buffers = [gpu.create_buffer_with_data(data=block, usage=usage) for block in blocks]
        bound = gpu.create_bind_group(
            layout=group,
            entries=[{"binding": n, "resource": {"buffer": b}} for n, b in enumerate(buffers)],
        )
        encoder = gpu.create_command_encoder()
        work = encoder.begin_compute_pass()
        work.set_pipeline(pipeline)
        work.set_bind_group(0, bound)
        work.dispatch_workgroups(*grid)
        work.end()
        gpu.queue.submit([encoder.finish()])
        return bytes(gpu.queue.read_buffer(buffers[0]))

    return dispatch
