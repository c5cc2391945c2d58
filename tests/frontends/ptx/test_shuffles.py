"""``shfl.sync`` with any clamp and segment mask, in a register or as a constant, as the ISA says;
atomic sums of halves."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device

HEAD = """.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u64 z, .param .u32 c) {
.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<4>; .reg .b16 %h<4>;
ld.param.u64 %rd1, [x];
ld.param.u64 %rd2, [y];
ld.param.u64 %rd3, [z];
ld.param.u32 %r1, [c];
mov.u32 %r2, %tid.x;
mul.wide.u32 %rd4, %r2, 4;
add.s64 %rd5, %rd1, %rd4;
add.s64 %rd6, %rd2, %rd4;
add.s64 %rd7, %rd3, %rd4;
ld.global.u32 %r3, [%rd5];
"""
SHUFFLED = """shfl.sync.{mode}.b32 %r4|%p1, %r2, %r3, {control}, -1;
selp.u32 %r5, 1, 0, %p1;
st.global.u32 [%rd6], %r4;
st.global.u32 [%rd7], %r5;
ret; }}"""


def launched(code: str, *args: object) -> None:
    cuda.RawModule(code=HEAD + code).get_function("k")(1, 32, args)


def by_the_isa(mode: str, lane: int, count: int, control: int) -> tuple[int, int]:
    """The lane that is read, and whether it is within the bounds."""
    count, clamp, mask = count & 31, control & 31, control >> 8 & 31
    least, most = lane & mask, lane & mask | clamp & ~mask
    made, inside = {
        "up": (lane - count, lane - count >= most),
        "down": (lane + count, lane + count <= most),
        "bfly": (lane ^ count, (lane ^ count) <= most),
        "idx": (least | count & ~mask, (least | count & ~mask) <= most),
    }[mode]
    return (made if inside else lane), int(inside)


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("control", [0, 31, 0x1F00, 0x181F, 0x1800, 5, 0x0A0B, 0x151F, 0x1FFF])
def test_a_shuffle(mode, control, device):
    current.choose(get_device(device))
    counts = np.random.default_rng(control).integers(0, 64, 32).astype(np.uint32)
    want = [by_the_isa(mode, lane, int(counts[lane]), control) for lane in range(32)]
    for written in ("%r1", str(control)):
        y, z = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
        launched(SHUFFLED.format(mode=mode, control=written), counts, y, z, control)
        assert list(zip(y, z, strict=True)) == want


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.parametrize("op", ["atom", "red"])
@pytest.mark.parametrize("kind", ["f16x2", "bf16x2", "bf16"])
def test_sums_of_halves(kind, op, device):
    current.choose(get_device(device))
    ones = {"f16x2": 0x4000_3C00, "bf16x2": 0x4000_3F80, "bf16": 0x3F80}[kind]  # 1, and 2 above
    register, word = ("%h1", "b16") if kind == "bf16" else ("%r4", "b32")
    result = f"{'%h2' if kind == 'bf16' else '%r5'}, " if op == "atom" else ""
    y = np.full(32, 0xABCD0000 if kind == "bf16" else 0, np.uint32)
    code = (
        f"mov.{word} {register}, {ones}; {op}.global.add.noftz.{kind} {result}[%rd2], {register};"
    )
    launched(code + "ret; }", y, y, y, 0)
    want = {"f16x2": 0x5400_5000, "bf16x2": 0x4280_4200, "bf16": 0xABCD_4200}[kind]  # 32, 64
    assert y[0] == want and (y[1:] == y[1]).all()


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_the_size_of_a_warp(device):
    current.choose(get_device(device))
    y = np.zeros(32, np.uint32)
    launched("mov.u32 %r4, WARP_SZ; st.global.u32 [%rd6], %r4; ret; }", y, y, y, 0)
    assert (y == 32).all()


SUM_OF_SOME = """setp.lt.u32 %p1, %r2, %r1;
vote.sync.ballot.b32 %r4, %p1, -1;
@!%p1 bra END;
shfl.sync.down.b32 %r5, %r3, 16, 31, %r4; add.u32 %r3, %r3, %r5;
shfl.sync.down.b32 %r5, %r3, 8, 31, %r4; add.u32 %r3, %r3, %r5;
shfl.sync.down.b32 %r5, %r3, 4, 31, %r4; add.u32 %r3, %r3, %r5;
shfl.sync.down.b32 %r5, %r3, 2, 31, %r4; add.u32 %r3, %r3, %r5;
shfl.sync.down.b32 %r5, %r3, 1, 31, %r4; add.u32 %r3, %r3, %r5;
END:
st.global.u32 [%rd6], %r3;
ret; }"""

ON_AN_H200 = {
    4: [406, 306, 205, 103],
    8: [828, 728, 627, 525, 422, 318, 213, 107],
    20: [2190, 2206, 2222, 2238, 2254, 2150, 2045, 1939, 1832, 1724, 1615, 1505, 1394, 1282]
    + [1169, 1055, 940, 708, 474, 238],
}
"""What a GPU makes of 100, 101, … in so many lanes."""


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("count", ON_AN_H200)
def test_lanes_that_are_elsewhere_give_zero(count, device):
    current.choose(get_device(device))
    values = np.arange(100, 132, dtype=np.uint32)
    sums = np.zeros(32, np.uint32)
    launched(SUM_OF_SOME, values, sums, sums, np.uint32(count))
    assert sums.tolist() == ON_AN_H200[count] + values[count:].tolist()
