"""The stand-in for Metal refuses what Metal refuses, and shows what a driver forgets."""

from __future__ import annotations

import ast
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device, words
from tests.runtime.metal.kernels import ADD_ONE, kernel

import gridlane.runtime.drivers.metal as driver
from gridlane.emulation.metal import archive as archives
from gridlane.emulation.metal import bridge, foundation, framework
from gridlane.emulation.metal.bridge import MetalAssertion
from gridlane.runtime.drivers.metal.selectors import SELECTORS, owning, owning_metadata, types_of

TEXT = kernel(*ADD_ONE).code.decode()
DYNAMIC = kernel("values: ulong", "at(values, i) = lane;", uses_dynamic_shared=True).code.decode()


class Bench:
    """A queue, and a kernel with what it needs."""

    def __init__(self, metal, text=TEXT):
        self.device = metal
        options = framework.MTLCompileOptions.new()
        options.setLanguageVersion_(framework.MTLLanguageVersion3_2)
        options.setMathMode_(framework.MTLMathModeSafe)
        library, error = metal.newLibraryWithSource_options_error_(text, options, None)
        assert error is None
        self.described = framework.MTLComputePipelineDescriptor.new()
        self.described.setComputeFunction_(library.newFunctionWithName_("k_main"))
        self.state, _ = self.made()
        self.queue = metal.newCommandQueue()
        self.buffer = metal.newBufferWithLength_options_(4096, 0)
        self.params = struct.pack("<QI4x", self.buffer.gpuAddress(), 64)

    def made(self, options=0):
        """(pipeline, error) of what is described."""
        make = self.device.newComputePipelineStateWithDescriptor_options_reflection_error_
        return make(self.described, options, None, None)

    def encoder(self):
        """A command buffer, and an encoder with all that the kernel needs."""
        command = self.queue.commandBuffer()
        encoder = command.computeCommandEncoder()
        encoder.setComputePipelineState_(self.state)
        encoder.setBytes_length_atIndex_(self.params, 16, 0)
        encoder.setBytes_length_atIndex_(bytes(40), 40, 1)
        encoder.useResource_usage_(self.buffer, 3)
        return command, encoder

    def run(self, prepare=lambda encoder: None):
        """Launch 64 threads and wait."""
        command, encoder = self.encoder()
        prepare(encoder)
        encoder.dispatchThreadgroups_threadsPerThreadgroup_((1, 1, 1), (64, 1, 1))
        encoder.endEncoding()
        command.commit()
        command.waitUntilCompleted()
        return command

    def words(self):
        return np.frombuffer(self.buffer.contents().as_buffer(256), np.uint32)


@pytest.fixture
def bench(metal):
    with bridge.autorelease_pool():
        for selector, signature in owning().items():
            metadata = owning_metadata(signature)
            bridge.registerMetaDataForSelector(b"NSObject", selector.encode(), metadata)
        made = Bench(metal)
        yield made
        vars(made).clear()  # pytest keeps the object itself


def test_a_launch(bench):
    command = bench.run()
    assert command.status() == framework.MTLCommandBufferStatusCompleted
    assert command.error() is None and command.GPUEndTime() >= command.GPUStartTime() > 0
    assert (bench.words() == 1).all()


def ended(bench, encoder, command):
    encoder.endEncoding()


def committed(bench, encoder, command):
    encoder.endEncoding()
    command.commit()
    command.waitUntilCompleted()


def nothing(bench, encoder, command):
    pass


def bare(bench, encoder, command):
    encoder.endEncoding()
    bench.fresh = command.computeCommandEncoder()


SHAPE, ONE = (64, 1, 1), (1, 1, 1)


@pytest.mark.parametrize(
    "before, misuse, told",
    [
        (ended, lambda b, e, c: e.endEncoding(), "the encoder has ended"),
        (ended, lambda b, e, c: e.useResource_usage_(b.buffer, 3), "the encoder has ended"),
        (nothing, lambda b, e, c: c.commit(), "an encoder that has not ended"),
        (nothing, lambda b, e, c: c.computeCommandEncoder(), "an encoder that has not ended"),
        (ended, lambda b, e, c: c.waitUntilCompleted(), "not committed"),
        (committed, lambda b, e, c: c.commit(), "committed already"),
        (committed, lambda b, e, c: c.computeCommandEncoder(), "committed already"),
        (nothing, lambda b, e, c: e.setBytes_length_atIndex_(bytes(5000), 5000, 0), "4096"),
        (nothing, lambda b, e, c: e.setBytes_length_atIndex_(bytes(5), 8, 0), "from 5"),
        (nothing, lambda b, e, c: e.setBytes_length_atIndex_(bytes(5), 5, 31), r"buffer\(31\)"),
        (nothing, lambda b, e, c: e.setBuffer_offset_atIndex_(b.buffer, 4096, 0), "offset 4096"),
        (nothing, lambda b, e, c: e.setThreadgroupMemoryLength_atIndex_(8, 0), "16 times"),
        (nothing, lambda b, e, c: e.useResource_usage_(b.buffer, 0), "usage 0"),
        (nothing, lambda b, e, c: launch(e, ONE, (1025, 1, 1)), "1025 threads"),
        (nothing, lambda b, e, c: launch(e, (0, 1, 1), SHAPE), r"grid \(0, 1, 1\)"),
        (nothing, lambda b, e, c: launch(e, (2**26, 1, 1), SHAPE), "axis 0"),
        (bare, lambda b, e, c: launch(b.fresh, ONE, SHAPE), "without a pipeline"),
        (bare, lambda b, e, c: unbound(b), r"buffers \[0, 1\] are not all bound"),
        (bare, lambda b, e, c: small(b), r"buffer\(0\) has 8 bytes, the kernel 16"),
    ],
)
def test_misuse(bench, before, misuse, told):
    command, encoder = bench.encoder()
    before(bench, encoder, command)
    with pytest.raises(MetalAssertion, match=told):
        misuse(bench, encoder, command)
    for each in (encoder, getattr(bench, "fresh", encoder)):
        if not each._ended:
            each.endEncoding()


def launch(encoder, grid, block):
    encoder.dispatchThreadgroups_threadsPerThreadgroup_(grid, block)


def unbound(bench):
    bench.fresh.setComputePipelineState_(bench.state)
    launch(bench.fresh, ONE, SHAPE)


def small(bench):
    bench.fresh.setBytes_length_atIndex_(bytes(8), 8, 0)
    bench.fresh.setBytes_length_atIndex_(bytes(40), 40, 1)
    unbound(bench)


def test_threadgroup_memory(metal, bench):
    shared = Bench(metal, DYNAMIC)
    _, encoder = shared.encoder()
    with pytest.raises(MetalAssertion, match=r"threadgroup memory \[0\] is not set"):
        launch(encoder, ONE, SHAPE)
    encoder.setThreadgroupMemoryLength_atIndex_(32784, 0)
    with pytest.raises(MetalAssertion, match="32784 bytes of threadgroup memory"):
        launch(encoder, ONE, SHAPE)
    encoder.endEncoding()


def test_methods_that_do_not_exist(bench):
    for name in ("newCommandBufferFast_", "commandBuffers", "commandBuffer_", "label"):
        with pytest.raises(AttributeError, match="does not exist in Metal"):
            getattr(bench.queue, name)
    with pytest.raises(MetalAssertion, match="takes 0 arguments"):
        bench.queue.commandBuffer(1)
    with pytest.raises(MetalAssertion, match="argument 0 is -1"):
        bench.device.newBufferWithLength_options_(-1, 0)
    with pytest.raises(MetalAssertion, match="argument 0 is 'x'"):
        bench.device.newBufferWithLength_options_("x", 0)


def test_a_buffer_that_is_not_resident(bench):
    """A pointer to a buffer that nobody told the encoder of faults."""
    command = bench.queue.commandBuffer()
    encoder = command.computeCommandEncoder()
    encoder.setComputePipelineState_(bench.state)
    encoder.setBytes_length_atIndex_(bench.params, 16, 0)
    encoder.setBytes_length_atIndex_(bytes(40), 40, 1)
    launch(encoder, ONE, SHAPE)
    encoder.endEncoding()
    command.commit()
    command.waitUntilCompleted()
    assert command.status() == framework.MTLCommandBufferStatusError
    assert command.error().code() == 3 and not bench.words().any()
    assert f"{bench.buffer.gpuAddress():x}"[:-3] in command.error().localizedDescription()
    assert bench.run().status() == framework.MTLCommandBufferStatusCompleted


def test_a_buffer_in_a_residency_set(bench):
    set_, _ = bench.device.newResidencySetWithDescriptor_error_(
        framework.MTLResidencySetDescriptor.new(), None
    )
    bench.queue.addResidencySet_(set_)
    other = bench.device.newBufferWithLength_options_(4096, 0)
    bench.params = struct.pack("<QI4x", other.gpuAddress(), 64)
    set_.addAllocation_(other)
    assert bench.run().error().code() == 3  # the change is not committed
    set_.commit()
    assert bench.run().error() is None
    set_.removeAllocation_(other)
    set_.commit()
    assert bench.run().error().code() == 3


def test_objects_that_no_pool_takes(metal):
    queue = metal.newCommandQueue()
    before = bridge.unpooled.copy()
    queue.commandBuffer()
    assert bridge.unpooled - before == {"MTLCommandBuffer": 1}
    bridge.unpooled.clear()
    bridge.living["MTLCommandBuffer"] -= 1


def test_an_encoder_that_goes_before_it_ends(bench):
    with bridge.autorelease_pool():
        bench.queue.commandBuffer().computeCommandEncoder()
    assert bridge.living.pop("encoder that went before it ended") == 1


# --- archives ---


def archive_of(bench, path=None):
    """(archive, error), of a file or empty."""
    described = framework.MTLBinaryArchiveDescriptor.new()
    if path is not None:
        described.setUrl_(foundation.NSURL.fileURLWithPath_(str(path)))
    return bench.device.newBinaryArchiveWithDescriptor_error_(described, None)


def stored(bench, path):
    """An archive with the kernel, in a file."""
    archive, _ = archive_of(bench)
    assert archive.addComputePipelineFunctionsWithDescriptor_error_(bench.described, None)[0]
    url = foundation.NSURL.fileURLWithPath_(str(path))
    assert archive.serializeToURL_error_(url, None) == (True, None)
    return path


FAIL_ON_MISS = framework.MTLPipelineOptionFailOnBinaryArchiveMiss


def test_a_pipeline_of_an_archive(bench, tmp_path):
    archive, error = archive_of(bench)
    assert error is None
    bench.described.setBinaryArchives_([archive])
    state, error = bench.made(FAIL_ON_MISS)
    assert state is None and "in no archive" in error.localizedDescription()
    archive, error = archive_of(bench, stored(bench, tmp_path / "archive"))
    assert error is None
    bench.described.setBinaryArchives_([archive])
    bench.state, error = bench.made(FAIL_ON_MISS)
    assert error is None and bench.run().error() is None and (bench.words() == 1).all()


def test_an_empty_archive_is_not_written(bench, tmp_path):
    archive, _ = archive_of(bench)
    url = foundation.NSURL.fileURLWithPath_(str(tmp_path / "archive"))
    written, error = archive.serializeToURL_error_(url, None)
    assert not written and error.domain() == "MTLBinaryArchiveDomain"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", ["missing", "truncated", "changed", "foreign"])
def test_a_file_that_is_no_archive(bench, tmp_path, damage, monkeypatch):
    path = stored(bench, tmp_path / "archive")
    data = bytearray(path.read_bytes())
    data[1000] ^= 1  # in the first library
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(path.read_bytes()[:-10])
    elif damage == "changed":
        path.write_bytes(data)
    else:
        monkeypatch.setattr(archives, "_identity", lambda: "of another g++")
    archive, error = archive_of(bench, path)
    assert archive is None
    assert (error.domain(), error.code()) == ("MTLBinaryArchiveDomain", 1)


def test_misuse_of_pipelines(bench):
    with pytest.raises(MetalAssertion, match="options 8"):
        bench.made(8)
    with pytest.raises(MetalAssertion, match=r"argument 0 is \[1\]"):
        bench.described.setBinaryArchives_([1])
    bench.described = framework.MTLComputePipelineDescriptor.new()
    with pytest.raises(MetalAssertion, match="without a function"):
        bench.made()
    archive, _ = archive_of(bench)
    with pytest.raises(MetalAssertion, match="without a function"):
        archive.addComputePipelineFunctionsWithDescriptor_error_(bench.described, None)


# --- what the driver needs ---


def test_without_fences_work_is_out_of_order(device, gpu, monkeypatch):
    """The driver's fences are what orders its command buffers."""
    from gridlane.emulation.metal.commands import MTLComputeCommandEncoder

    body = "if (i < n) at(values, i) = at(values, i) * 3 + n;"
    artifact = kernel("values: ulong, n: uint", body)
    bound = device.load(artifact).bind((64, 1, 1))

    def found():
        data = to_device(device, np.zeros(64, np.uint32))
        gpu.hold(True)
        for n in range(64, 74):
            bound.launch(params(artifact, data, n), 1, 1, 1, 0)
            device.recorder.flush()
        gpu.hold(False)
        return words(device, data)[0]

    wanted = 0
    for n in range(64, 74):
        wanted = wanted * 3 + n
    assert {int(found()) for _ in range(5)} == {wanted}
    monkeypatch.setattr(MTLComputeCommandEncoder, "waitForFence_", lambda self, fence: None)
    assert {int(found()) for _ in range(5)} != {wanted}


def test_without_the_end_of_work_nothing_is_read(device, gpu):
    """The device runs apart: what is not waited for is not there."""
    artifact = kernel(*ADD_ONE)
    data = to_device(device, np.zeros(64, np.uint32))
    gpu.hold(True)
    stream = device.new_stream()
    stream.launch(device.load(artifact).bind((64, 1, 1)), params(artifact, data, 64), 1, 1, 1, 0)
    device.recorder.flush()
    assert not stream.query() and not np.frombuffer(data.host(), np.uint32).any()
    gpu.hold(False)
    assert (words(device, data) == 1).all() and stream.query()


def test_work_is_batched(device, gpu):
    artifact = kernel(*ADD_ONE)
    bound = device.load(artifact).bind((64, 1, 1))
    data, stream = to_device(device, np.zeros(64, np.uint32)), device.new_stream()
    first = device.context.progress
    for _ in range(160):
        stream.launch(bound, params(artifact, data, 64), 1, 1, 1, 0)
    assert device.context.progress == first + 2  # of 64 launches each; the third is open
    stream.synchronize()
    assert device.context.progress == first + 3 and (words(device, data) == 160).all()


def test_every_method_that_the_driver_calls_is_known():
    """By the text of the driver: attributes that look like methods of Metal."""
    known = {
        selector.replace(":", "_"): len(types_of(signature)) - 1
        for methods in SELECTORS.values()
        for selector, signature in methods.items()
    }
    calls = {}
    for path in Path(driver.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and re.fullmatch(r"(?!__)\w+_", node.attr):
                calls.setdefault(node.attr, path.name)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                name = node.func.attr
                if name.endswith("_") and name in known:
                    assert len(node.args) == known[name], (name, path.name)
    assert calls and not {name: file for name, file in calls.items() if name not in known}
    assert all(
        selector.count(":") == len(types_of(signature)) - 1
        for methods in SELECTORS.values()
        for selector, signature in methods.items()
    )


def test_the_stand_in_has_every_method_and_no_other():
    from gridlane.emulation.metal import (
        archive,
        commands,
        device,
        foundation,
        options,
        resources,
        sync,
    )

    for kind, methods in SELECTORS.items():
        modules = (archive, commands, device, foundation, options, resources, sync)
        (cls,) = (
            vars(each)[kind]
            for each in modules
            if vars(each).get(kind, object).__module__ == each.__name__
        )
        there = {name for name in vars(cls) if not name.startswith("_")}
        assert there == {selector.replace(":", "_") for selector in methods}, kind


def test_metadata_of_owning_methods():
    assert owning_metadata("@@^@") == {
        "retval": {"type": b"@", "already_retained": True},
        "arguments": {2: {"type": b"@"}, 3: {"type": b"^@", "type_modifier": b"o"}},
    }
    assert owning_metadata("@0^@")["arguments"] == {
        2: {"type": b"^@"},
        3: {"type": b"^@", "type_modifier": b"o"},
    }
    assert set(owning()) == {
        selector for methods in SELECTORS.values() for selector in methods if "new" in selector
    }
