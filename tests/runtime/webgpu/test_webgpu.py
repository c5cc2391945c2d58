"""What is WebGPU's own: adapters, what naga says, fences, objects."""

from __future__ import annotations

import gc
import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device, words
from tests.runtime.single_buffer.helpers import opened, opener
from tests.runtime.single_buffer.texts import ADD_ONE, kernel
from tests.waiting import until

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.webgpu import adapters
from gridlane.runtime.drivers.webgpu.wgsl_sources import complaint


@pytest.fixture
def device(tmp_path, monkeypatch):
    made = opened("webgpu", monkeypatch, tmp_path)
    yield made
    made.close()


def adapter(name, kind, backend="Vulkan"):
    return SimpleNamespace(info={"device": name, "adapter_type": kind, "backend_type": backend})


@pytest.mark.parametrize(
    "shown, expected",
    [
        ([("a", "CPU"), ("b", "IntegratedGPU"), ("c", "DiscreteGPU")], "cba"),
        ([("a", "CPU"), ("a", "CPU", "OpenGL")], "a"),
        ([("x", "Unknown", "OpenGL"), ("a", "DiscreteGPU", "OpenGL")], "ax"),
        ([("a", "CPU"), ("b", "Unknown", "Metal")], "ba"),
    ],
)
def test_the_order_of_adapters(monkeypatch, shown, expected):
    found = [adapter(*each) for each in shown]
    gpu = SimpleNamespace(enumerate_adapters_sync=lambda: found)
    monkeypatch.setattr(adapters, "bindings", lambda: SimpleNamespace(gpu=gpu))
    assert "".join(each.info["device"] for each in adapters.usable.__wrapped__()) == expected


def test_no_adapter(monkeypatch):
    gpu = SimpleNamespace(enumerate_adapters_sync=lambda: [])
    monkeypatch.setattr(adapters, "bindings", lambda: SimpleNamespace(gpu=gpu))
    with pytest.raises(DeviceError, match=r"NO_DEVICE.*finds no adapter"):
        adapters.usable.__wrapped__()


def test_a_missing_package_is_told_as_such(monkeypatch):
    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(adapters, "import_module", missing)
    monkeypatch.setattr(adapters, "bindings", adapters.bindings.__wrapped__)
    with pytest.raises(DeviceError, match=r"machine: the package wgpu does not load") as found:
        adapters.usable.__wrapped__()
    assert "finds no adapter" not in str(found.value)
    assert found.value.advice.startswith("pip install 'gridlane[webgpu]'")
    assert found.value.__suppress_context__  # a traceback of the import says no more


@pytest.mark.parametrize("given", [None, "", "/run/user/7"])
def test_adapters_are_found_without_words_on_a_display(monkeypatch, given):
    seen = []

    def found():
        seen.append(os.environ["XDG_RUNTIME_DIR"])
        return [adapter("A", "CPU")]

    gpu = SimpleNamespace(enumerate_adapters_sync=found)
    monkeypatch.setattr(adapters, "bindings", lambda: SimpleNamespace(gpu=gpu))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    if given is not None:
        monkeypatch.setenv("XDG_RUNTIME_DIR", given)
    adapters.usable.__wrapped__()
    assert seen == [given or "/nonexistent"]
    assert os.environ.get("XDG_RUNTIME_DIR") == given


def test_the_limits_are_the_adapters(device):
    limits = adapters.usable()[0].limits
    assert device.limits.max_threads == limits["max-compute-invocations-per-workgroup"]
    assert device.limits.max_shared == limits["max-compute-workgroup-storage-size"]
    largest = min(limits["max-storage-buffer-binding-size"], limits["max-buffer-size"])
    assert device.engine.facts.largest == largest // 4 * 4
    assert device.engine.facts.step == limits["min-storage-buffer-offset-alignment"]


def test_an_answer_to_a_question(device):
    artifact = kernel(device, *ADD_ONE)
    bound, stream = device.load(artifact).bind((64, 1, 1)), device.new_stream()
    data, events = to_device(device, np.zeros(64, np.uint32)), []
    for _ in range(5):
        stream.launch(bound, params(artifact, data, 64), 1, 1, 1, 0)
        events.append(device.new_event(False))
        events[-1].record(stream)
        events[-1].query()
    until(lambda: all(event.query() for event in events))
    for event in events:
        event.synchronize()
    assert (words(device, data) == 5).all()


def test_a_device_without_time_stamps(device, monkeypatch):
    monkeypatch.setattr(device.engine, "_timed", False)
    data, stream = device.allocate(1 << 20), device.new_stream()
    first, second = device.new_event(), device.new_event()
    first.record(stream)
    for _ in range(20):
        stream.fill(data.address, 7, 1 << 20)
    second.record(stream)
    second.synchronize()
    assert 0 < first.elapsed_ms(second) < 60_000


def test_nothing_is_left(device):
    import wgpu

    def living():
        gc.collect()
        counts = wgpu.diagnostics.wgpu_native_counts.get_dict()
        names = ("Buffer", "ShaderModule", "ComputePipeline", "QuerySet", "BindGroup")
        return {name: counts[name]["count"] for name in names}

    def work(n):
        artifact = kernel(device, "values: ptr", f"heap[values + i] = {n}u;")
        bound, stream = device.load(artifact).bind((64, 1, 1)), device.new_stream()
        data, event = device.allocate(4096), device.new_event()
        stream.launch(bound, params(artifact, data), 1, 1, 1, 0)
        event.record(stream)
        event.synchronize()
        assert (words(device, data)[:64] == n).all()

    for n in range(3):
        work(n)
    before = living()
    for n in range(30):
        work(n)
    after = living()
    assert all(after[name] <= before[name] + 2 for name in before), (before, after)


SAID = """
Validation Error

Shader '' parsing error: no definition in scope for identifier: `y`
  ┌─ wgsl:2:24
"""


def test_what_naga_says():
    told = "no definition in scope for identifier: `y`, in line 2 of the WGSL: second;"
    assert complaint("first\n  second;\n", SAID) == told
    assert complaint("first", "no\n such  thing") == "no such thing"


def test_an_adapter_that_does_not_open(monkeypatch):
    from gridlane.runtime.drivers.webgpu.engine import WebGpuEngine

    opener("webgpu")
    real = adapters.usable()[0]

    def refuse(**wanted):
        raise RuntimeError("in use elsewhere")

    fake = SimpleNamespace(
        features=real.features, limits=real.limits, info=real.info, request_device_sync=refuse
    )
    with pytest.raises(DeviceError, match=r"NO_DEVICE.*does not open \(in use elsewhere\)"):
        WebGpuEngine(fake)


def test_what_a_handler_raises_is_no_defect_of_a_kernel(device, monkeypatch):
    artifact = kernel(device, *ADD_ONE)

    def handler(number, frame):
        raise TimeoutError

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with monkeypatch.context() as patch, pytest.raises(TimeoutError):
            patch.setattr(
                device.engine._gpu,
                "create_compute_pipeline",
                lambda **given: signal.raise_signal(signal.SIGUSR1),
            )
            device.load(artifact).bind((64, 1, 1))
    finally:
        signal.signal(signal.SIGUSR1, before)
    device.load(artifact).bind((64, 1, 1))
