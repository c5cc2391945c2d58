"""Every op on tiles is lowered, and what does not fit is refused."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.passes.tiles.programs import Program, run

from gridlane.backends import backend, backends
from gridlane.compiler.generation import copied
from gridlane.compiler.programs import block_of
from gridlane.conformance.module_runner import run_on
from gridlane.core.dtypes import f32, i32
from gridlane.core.errors import TargetError
from gridlane.ir.families import TILES
from gridlane.ir.ops import arith, tile_memory, tiles
from gridlane.ir.values import ErrorSite
from gridlane.passes.tiles import TileMachine, elements, lower, lower_tiles


def test_each_op_has_its_lowering() -> None:
    computed = {op.name for op in (*elements.RULES, *lower.RULES)}
    assert TILES <= computed


def test_each_target_lowers_first() -> None:
    for record in backends():
        if not record.executes_ir:
            assert record.pipeline[0].path.endswith("lower_tiles"), record.name


def test_too_much_shared_memory_is_refused() -> None:
    p = Program(f32)
    at = p.numbers((256, 256))
    p.store(0, at, p.scan(lambda b, x, y: b.add(x, y), 0, p.load(0, at)))
    with pytest.raises(TargetError, match=r"Required: 262144, Hardware limit: 32768\. Reducing"):
        run(p, "vulkan", [np.zeros(65536, np.float32)])


def test_tiles_whose_lives_do_not_meet_share_memory() -> None:
    p = Program(i32)
    at = p.numbers((64, 64))
    x = p.load(0, at)
    for axis in (0, 1, 0, 1):  # each result is 16 KiB
        x = p.scan(lambda b, x, y: b.add(x, y), axis, x)
    p.store(0, at, x)
    module = copied(p.module)
    lower_tiles(module, TileMachine(8, 32 << 10))
    assert sum(item.size for item in module.static_shared()) == 32 << 10
    data = np.random.default_rng(0).integers(-9, 9, 4096).astype(np.int32)
    want = data.reshape(64, 64).cumsum(0).cumsum(1).cumsum(0).cumsum(1)
    for device in DEVICES:
        if device != "webgpu":  # it has 16 KiB
            got = run(p, device, [data])[0]
            np.testing.assert_array_equal(got, want.astype(np.int32).ravel())


def test_a_tile_lives_as_long_as_a_loop_needs_it() -> None:
    p = Program(i32)
    at, b = p.iota(64), p.b
    kept = p.scan(lambda b, x, y: b.add(x, y), 0, p.load(0, at))
    total = p.var(kept.type, p.full(0, (64,), i32))
    count = b.variable("count", i32)
    with b.loop() as loop:
        b.break_if(p.emit(arith.Ge(b.read(count), b.const(3, i32))))
        b.write(total, p.add(b.read(total), kept))
        again = p.scan(lambda b, x, y: b.add(x, y), 0, b.read(total))
        b.write(total, p.emit(tiles.TileGather(again, at, 0)))
    with b.inside(loop.step):
        b.write(count, b.add(b.read(count), b.const(1, i32)))
    p.store(0, at, b.read(total))
    data = np.arange(64, dtype=np.int32)
    want = np.zeros(64, np.int32)
    for _ in range(3):
        want = (want + data.cumsum()).cumsum().astype(np.int32)
    for device in DEVICES:
        np.testing.assert_array_equal(run(p, device, [data])[0], want)


def test_elements_are_printed_in_order(capfd: pytest.CaptureFixture[str]) -> None:
    p = Program(f32)
    x = p.load(0, p.numbers((2, 2)))
    p.b.emit(tile_memory.TilePrint(" x: ", x))
    p.b.emit(tile_memory.TilePrint(": ", x, True))
    values = np.array([1.5, -2, 0.1, 3e30], np.float32)
    places = ["(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)"]
    want = [
        f"pid (0, 0, 0) idx {place} x: {value}\n"
        for place, value in zip(places, ["1.5", "-2.0", "0.1", "3e+30"], strict=True)
    ]
    want += [
        f"pid (0, 0, 0) idx {place}: {int(bits):#010x}\n"
        for place, bits in zip(places, values.view(np.uint32), strict=True)
    ]
    for device in DEVICES:
        run(p, device, [values])
        assert capfd.readouterr().out == "".join(want), device


def test_a_condition_of_one_element_ends_the_launch() -> None:
    p = Program(i32)
    at = p.iota(256)
    p.module.errors.append(ErrorSite("AssertionError", "an element is 7"))
    seven = p.map(lambda b, x: b.eq(x, b.const(7, i32)), p.load(0, at))
    p.b.emit(tile_memory.TileStopIf(seven, 0))
    p.store(0, at, p.full(1, (256,), i32))
    for last in (0, 7):
        data = np.zeros(256, np.int32)
        data[200] = last
        for device in ("interp", *DEVICES):
            block = block_of(backend(device), 4)
            outcome = run_on(device, p.module, (1, 1, 1), block, [data])
            assert outcome.raised == (last == 7), device
            assert (outcome.arrays[0] == (data if last else 1)).all(), device


def test_large_tiles_on_the_cpu() -> None:
    p = Program(f32)
    at = p.numbers((256, 256))
    turned = p.emit(tiles.TileTranspose(p.load(0, at), (1, 0)))
    v = p.var(turned.type, turned)
    p.store(0, at, p.add(p.emit(tiles.TileTranspose(p.b.read(v), (1, 0))), p.b.read(v)))
    data = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
    got = run(p, "cpu", [data.ravel()])
    np.testing.assert_array_equal(got[0].reshape(256, 256), data + data.T)
