"""What tile programs print: lines as Triton's on GPUs, a scalar's once for a program."""

from __future__ import annotations

import numpy as np
import pytest

import gridlane
from gridlane import tiles

tl = tiles.language


@tiles.jit
def prints(x, out):
    i = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    value = tl.load(x + i)
    n = tl.program_id(1)
    tl.device_print("value", value)
    tl.device_print("two: ", tl.arange(8, 10), n)
    tl.device_print("", n)
    tl.device_print("bits", n - 2, hex=True)
    tl.device_print("nothing")
    tl.device_print("bytes", value.to(tl.int8), hex=True)
    tl.device_print("at", out)
    tl.device_print("there", out + tl.arange(0, 16))
    tl.store(out + i, value)


def lines(x):
    places = [(row, column) for row in range(4) for column in range(4)]
    yield from (f"idx ({row}, {column}) value: {x[row, column]}" for row, column in places)
    yield from (f"idx ({n}) two: (operand 0) {8 + n}" for n in range(2))
    yield from ("idx () two: (operand 1) 1", "idx (): 1", "idx () bits: 0xffffffff", "nothing")
    for place in places:
        bits = int(x[place].astype(np.int8).view(np.uint8))
        yield f"idx ({place[0]}, {place[1]}) bytes: {bits:#04x}"
    yield "idx () at: 0x"
    yield from (f"idx ({n:2}) there: 0x" for n in range(16))


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_lines(device, capfd):
    x = np.arange(-8, 8, dtype=np.int32).reshape(4, 4)
    out = np.zeros((4, 4), np.int32)
    with gridlane.device(device):
        prints[(1, 2)](x, out)
    printed = [each for each in capfd.readouterr().out.splitlines() if "(0, 1, 0)" in each]
    without_addresses = [
        each.partition("0x")[0] + "0x" if "at:" in each or "there:" in each else each
        for each in printed
    ]
    assert without_addresses == [f"pid (0, 1, 0) {each}" for each in lines(x)]
