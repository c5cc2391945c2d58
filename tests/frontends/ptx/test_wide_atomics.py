"""Atomics of 128 bits: compare and swap, exchange, ordered loads and stores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas, results, text_of

from gridlane.core.errors import KernelError, TargetError
from gridlane.core.options import KernelOptions
from gridlane.frontends.ptx import PtxSource, parse_ptx
from gridlane.frontends.ptx.forms import FORMS, wide
from gridlane.passes.structure.release_first import is_spin

HAVE = ["interp", *(each for each in DEVICES if each in ("cpu", "cuda"))]
REGISTERS = ".reg .b128 %q<8>; .shared .align 16 .b8 s[16]; mov.u64 %rd9, s;"

TICKETS = """
{load}
again: mov.b128 {{%rd1, %rd2}}, %q1;
add.cc.u64 %rd3, %rd1, 0xfffffffffffffffe; addc.u64 %rd4, %rd2, 0;
mov.b128 %q2, {{%rd3, %rd4}};
{cas}.cas.b128 %q3, [{at}], %q1, %q2;
mov.b128 {{%rd5, %rd6}}, %q3;
setp.ne.u64 %p1, %rd5, %rd1; setp.ne.or.u64 %p1, %rd6, %rd2, %p1;
mov.b128 %q1, %q3;
@%p1 bra again;
xor.b64 %rd1, %rd1, %rd2; cvt.u32.u64 %result, %rd1;
"""
"""Each thread adds 2^64 - 2 to the number in memory; the result is the old one's words, joined."""


def tickets(start: int, threads: int) -> tuple[list[int], int]:
    """What the threads get, in some order, and what memory has then."""
    got: list[int] = []
    for _ in range(threads):
        got.append((start ^ start >> 64) & 0xFFFFFFFF)
        start = start + (1 << 64) - 2 & (1 << 128) - 1
    return sorted(got), start


@pytest.mark.parametrize("device", HAVE)
@pytest.mark.parametrize("order", ["atom", "atom.acq_rel.sys.global", "atom.relaxed.cta.global"])
def test_compare_and_swap(device, order):
    start = 0x0123456789ABCDEF_FFFFFFFFFFFFFFF0
    memory = np.array([start & (1 << 64) - 1, start >> 64], np.uint64)
    body = TICKETS.format(load="ld.acquire.gpu.b128 %q1, [%source];", cas=order, at="%source")
    made = results(device, REGISTERS + body, threads=70, source=memory)
    wanted, end = tickets(start, 70)
    assert sorted(made.tolist()) == wanted
    assert int(memory[0]) + (int(memory[1]) << 64) == end


@pytest.mark.parametrize("device", HAVE)
def test_in_shared_memory(device):
    """The threads of a block share the words; the first one sets them."""
    body = """
    setp.ne.u32 %p0, %t, 0; mov.u64 %rd1, 5; mov.u64 %rd2, 7; mov.b128 %q0, {%rd1, %rd2};
    @!%p0 st.release.cta.shared.b128 [%rd9], %q0;
    bar.sync 0;
    """ + TICKETS.format(load="ld.shared.b128 %q1, [%rd9];", cas="atom.shared", at="%rd9")
    made = results(device, REGISTERS + body, threads=70)
    assert sorted(made.tolist()) == tickets(5 + (7 << 64), 70)[0]


EXCHANGE = """
mul.wide.u32 %rd1, %t, 16; add.u64 %rd1, %rd1, %source;
cvt.u64.u32 %rd2, %t; not.b64 %rd3, %rd2; mov.b128 %q0, {%rd2, %rd3};
{op}
mov.b128 {%rd4, %rd5}, %q1; xor.b64 %rd4, %rd4, %rd5; cvt.u32.u64 %result, %rd4;
"""


@pytest.mark.parametrize("device", HAVE)
@pytest.mark.parametrize(
    "op",
    [
        "atom.global.exch.b128 %q1, [%rd1], %q0;",
        "createpolicy.fractional.L2::evict_first.b64 %rd7;"
        "atom.acquire.cta.exch.L2::cache_hint.b128 %q1, [%rd1], %q0, %rd7;",
        "ld.relaxed.gpu.global.b128 %q1, [%rd1]; st.relaxed.gpu.global.b128 [%rd1], %q0;",
        "ld.mmio.relaxed.sys.b128 %q1, [%rd1]; st.mmio.relaxed.sys.global.b128 [%rd1], %q0;",
    ],
)
def test_exchange(device, op):
    memory = np.arange(1, 129, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    before = memory.copy()
    made = results(device, REGISTERS + EXCHANGE.replace("{op}", op), threads=64, source=memory)
    assert (made == (before[::2] ^ before[1::2]).astype(np.uint32)).all()
    own = np.arange(64, dtype=np.uint64)
    assert (memory == np.stack((own, ~own), 1).ravel()).all()


@pytest.mark.parametrize("device", [each for each in HAVE if each != "cuda"])
def test_an_address_that_is_no_multiple_of_16(device):
    body = REGISTERS + "ld.relaxed.gpu.global.b128 %q1, [%source+8]; mov.u32 %result, 1;"
    with pytest.raises((RuntimeError, KernelError), match=r"multiple of 16"):
        results(device, body, source=np.zeros(8, np.uint64))


@pytest.mark.parametrize("device", [each for each in DEVICES if each not in HAVE])
def test_shaders_refuse_them(device):
    body = REGISTERS + "atom.global.exch.b128 %q1, [%source], %q1; mov.u32 %result, 1;"
    with pytest.raises(TargetError, match=r"atomic_cas_pair.*at most 64 bits"):
        results(device, body)


def test_a_load_in_a_loop_waits():
    """A loop that polls 128 bits has the limit of one that waits."""
    body = (
        REGISTERS
        + """
    again: ld.acquire.gpu.global.b128 %q1, [%source];
    mov.b128 {%rd1, %rd2}, %q1; setp.eq.u64 %p1, %rd1, 0;
    @%p1 bra again;
    mov.u32 %result, 1;
    """
    )
    made = PtxSource(parse_ptx(text_of(body)), "k").translate((), KernelOptions())
    assert any(is_spin(op) for op in made.kernel.body.walk())


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
def test_ptxas_accepts_each_form(tmp_path: Path):
    lines: list[str] = []
    for row in (row for root in ("atom", "ld", "st") for row in FORMS[root]):
        if row.build.__module__ != wide.__name__:
            continue
        for spelling in list(row.spellings())[::3]:
            address = "[%rd9]" if ".shared" in spelling else "[%source]"
            given = {"ld": "%q1, {}", "st": "{}, %q1"}.get(row.root, "%q1, {}, %q2")
            given = given.format(address) + (", %q3" if ".cas" in spelling else "")
            hint = ", %rd8" if "cache_hint" in spelling else ""
            lines.append(f"{spelling} {given}{hint};")
    assert len(lines) > 100
    assert refused_by_ptxas(text_of("\n".join((REGISTERS, *lines))), tmp_path) == []
