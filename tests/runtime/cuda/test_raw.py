"""Modules of PTX that go to the driver as they came."""

from __future__ import annotations

import gc
import struct

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.errors import ArgumentError, DeviceError, PtxError
from gridlane.cuda import texture
from gridlane.launch import current
from gridlane.modules import heap as memory_of_malloc

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
TEXT = (
    HEAD
    + """.visible .global .align 4 .b8 table[12];
.visible .entry first(.param .u8 small, .param .align 16 .b8 whole[20], .param .u16 half,
    .param .f64 wide, .param .u64 data)
{
    tcgen05.fence::before_thread_sync;
    ret;
}
.visible .entry second(.param .u32 n)
{
    ret;
}
"""
)


def test_a_module_comes_as_it_is(machine):
    module = cuda.RawModule(code=TEXT)
    data = cuda.to_device(np.zeros(4, np.uint8))
    whole = bytes(range(20))
    first, second = module.get_function("first"), module.get_function("second")
    first((2, 3), (4, 5), (7, whole, np.uint16(9), 2.5, data), shared_mem=64)
    second((1,), (32,), (5,))
    one, two = machine.launches
    assert (one.name, one.grid, one.block, one.shared) == ("first", (2, 3, 1), (4, 5, 1), 64)
    assert one.params == struct.pack("<B15x20sHxxdQ", 7, whole, 9, 2.5, data.address)
    assert (two.name, two.params) == ("second", struct.pack("<I", 5))
    assert machine.calls.count("cuModuleLoadDataEx") == 1


@pytest.mark.parametrize("alignment", [32, 64, 128])
def test_aligned_parameters_go_by_their_addresses(machine, alignment):
    """ptxas aligns a parameter's address, and the block of parameters has its own beginning: a
    packed block of 64-byte tensor maps would put each in the wrong place."""
    text = HEAD + (
        f".visible .entry k(.param .u32 n, .param .align {alignment} .b8 map[128], .param .u64 at)"
        "\n{ tcgen05.fence::before_thread_sync; ret; }"
    )
    whole, data = bytes(range(128)), cuda.to_device(np.zeros(4, np.uint8))
    kernel = cuda.RawModule(code=text).get_function("k")
    for _ in range(3):
        kernel((1,), (32,), (7, whole, data))
    assert len(machine.launches) == 3
    for launch in machine.launches:
        assert launch.params[:4] == struct.pack("<I", 7)
        at = launch.params.index(whole)
        assert launch.params[at + 128 :] == struct.pack("<Q", data.address)


def test_units_come_as_one_text(machine):
    units = [
        HEAD + ".extern .func f(); .extern .global .align 4 .b8 table[8]; .global .u32 own;\n"
        ".visible .entry k(.param .u32 n) { call f; ret; }",
        HEAD + ".visible .func f() { ret; } .visible .global .align 4 .b8 table[8];\n"
        ".global .u32 own;",
    ]
    module = cuda.RawModule(code=units)
    module.get_function("k")((1,), (32,), (5,))
    (launch,) = machine.launches
    assert (launch.name, launch.params) == ("k", struct.pack("<I", 5))
    assert module.get_global("table").size == 8
    assert machine.calls.count("cuModuleLoadDataEx") == 1


def test_each_module_has_its_variables(machine):
    modules = [cuda.RawModule(code=TEXT) for _ in range(2)]
    tables = [module.get_global("table") for module in modules]
    assert [table.size for table in tables] == [12, 12]
    assert len({table.address for table in tables}) == 2
    tables[0].copy_to_device(np.arange(12, dtype=np.uint8))
    assert modules[0].get_global("table").copy_to_host().tolist() == list(range(12))
    with pytest.raises(ArgumentError, match="no variable chair here; the variables are: table"):
        modules[0].get_global("chair")


def test_a_variable_keeps_its_module(machine):
    table = cuda.RawModule(code=TEXT).get_global("table")
    gc.collect()
    assert table.copy_to_host().tolist() == [0xCD] * 12  # as the fake driver fills memory


def test_through_the_ir(machine):
    kernel = cuda.RawModule(code=TEXT, via="ir").get_function("second")
    kernel((1,), (32,), (5,))
    with pytest.raises(PtxError, match="tcgen05"):
        cuda.RawKernel(TEXT, "first", via="ir")(1, 1, (0, bytes(20), 0, 0.0, 0))


@pytest.mark.parametrize(
    "line",
    [
        ".extern .func (.param .f32 result) __nv_sinf (.param .f32 x);",
        ".extern .global .u32 elsewhere;",
        "// tex.1d.v4.f32.s32",
        ".func f (.reg .u32 %x) { ret; }",
    ],
)
def test_what_the_driver_lacks_comes_through_the_ir(machine, line):
    text = f"{HEAD}{line}\n.visible .entry k(.param .u64 data) {{\n    ret;\n}}\n"
    code = cuda.RawModule(code=text)._code
    assert not code.goes_to_driver(current.device())
    cuda.RawKernel(text, "k")(1, 1, (0,))
    cuda.RawKernel(text, "k", via="driver")(1, 1, (0,))
    assert len(machine.launches) == 2


def test_the_driver_knows_no_texture_of_gridlane(machine):
    text = f"{HEAD}.visible .entry k(.param .u64 t) {{\n    txq.width.b32 %r1, [t];\n ret;\n}}\n"
    form = texture.ChannelFormatDescriptor(8, 0, 0, 0, texture.cudaChannelFormatKindUnsigned)
    resource = texture.ResourceDescriptor(0, cuArr=texture.CUDAarray(form, 4))
    image = texture.TextureObject(resource, texture.TextureDescriptor())
    kernel = cuda.RawKernel(text, "k", via="driver")
    with pytest.raises(ArgumentError, match=r"TextureObject.* by the driver"):
        kernel(1, 1, (image,))
    kernel(1, 1, (image.ptr,))  # a number may be a handle of the driver's own
    assert len(machine.launches) == 1


def test_what_the_driver_refuses(machine):
    text = TEXT.replace("    ret;", "    // refuse me\n    ret;")
    with pytest.raises(DeviceError, match="kernel first: ptxas fake, line 1: refused, as asked"):
        cuda.RawModule(code=text).get_function("second")(1, 1, (5,))


def test_dynamic_shared_memory_is_asked_for(machine):
    text = TEXT.replace(
        ".visible .global", ".extern .shared .align 16 .b8 room[];\n.visible .global"
    )
    cuda.RawKernel(text, "second")(1, 32, (5,), shared_mem=100_000)
    assert machine.launches[0].shared == 100_000


def test_after_a_fault_the_kernels_share_a_module_again(machine, device):
    module = cuda.RawModule(code=TEXT)
    kernels = module.get_function("first"), module.get_function("second")
    arguments = (7, bytes(20), 9, 2.5, 0), (5,)
    for kernel, args in zip(kernels, arguments):
        kernel(1, 1, args)
    machine.fault(700)
    with pytest.raises(DeviceError):
        device.synchronize()
    device.reset()
    machine.clear_log()
    for kernel, args in zip(kernels, arguments):
        kernel(1, 1, args)
    assert machine.calls.count("cuModuleLoadDataEx") == 1
    assert module.get_global("table").size == 12


def test_after_a_fault_memory_of_the_ir_is_new(machine, device):
    text = (
        HEAD
        + """.visible .global .u32 count = 7;
.extern .func (.param .b64 r) malloc(.param .b64 n);
.visible .entry k(.param .u64 o)
{
    .reg .b64 %rd<5>; .reg .b32 %r<5>;
    ld.param.u64 %rd1, [o];
    ld.global.u32 %r1, [count];
    st.global.u32 [%rd1], %r1;
    { .param .b64 a; .param .b64 b; st.param.b64 [a], 8;
    call (b), malloc, (a);
    ld.param.b64 %rd2, [b]; }
    st.global.u64 [%rd1+8], %rd2;
    ret;
}"""
    )
    module = cuda.RawModule(code=text, via="ir")
    kernel = module.get_function("k")
    kernel(1, 1, (cuda.device_array(4, np.uint64),))
    heaps = [memory_of_malloc.heap(current.device())]
    machine.fault(700)
    with pytest.raises(DeviceError):
        device.synchronize()
    device.reset()
    kernel(1, 1, (cuda.device_array(4, np.uint64),))
    heaps.append(memory_of_malloc.heap(current.device()))
    assert heaps[0] is not heaps[1]
    words = np.zeros(4, np.uint32)
    device.download(words.view(np.uint8).data, heaps[1].address)
    assert words.any()
    assert module.get_global("count").view(np.uint32).copy_to_host() == [7]


def test_a_variable_is_known_by_its_address(machine):
    """As copies and attributes of pointers find it."""
    module = cuda.RawModule(code=TEXT)
    table, device = module.get_global("table"), current.device()
    found = device.memory.find(table.address + 4, 8)
    assert found is not None and (found.address, found.size) == (table.address, 12)
    address = table.address
    del module, table, found
    gc.collect()
    assert device.memory.find(address, 1) is None
