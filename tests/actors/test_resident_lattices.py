"""Lattices whose blocks exchange halos while a kernel runs, against numpy, bit for bit.

The interpreter runs them everywhere, its blocks by turns; ``cuda`` where there is a GPU.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.actors.lattice_samples import (
    corners,
    far,
    heat,
    numpy_corners,
    numpy_heat,
    numpy_pair,
    numpy_steps,
    numpy_wave,
    pair,
    wave,
)
from tests.actors.test_lattices import Drive, Source, Stop, driven, numpy_driven, random, run, same
from tests.devices import DEVICES

from gridlane import actors
from gridlane.actors.lattices.lists import ENTRY, lists_of
from gridlane.actors.lattices.space import space_of
from gridlane.actors.lattices.tiles import Tiles, best_tiles
from gridlane.core.errors import LaunchError

SIDES = (False, True)
BOX = list(itertools.product(SIDES, SIDES, SIDES))


@pytest.fixture(params=["interp", *(["cuda"] if "cuda" in DEVICES else [])])
def waiting(request):
    """A runtime whose device has blocks that wait for each other."""
    with actors.Runtime(device=request.param) as made:
        yield made


@pytest.mark.parametrize("periodic", BOX)
def test_six_neighbours(waiting, periodic):
    u, v, c = random((5, 6, 7)), random((5, 6, 7)) / 2, np.float32(0.1)
    options = {"periodic": periodic, "args": (0.1,), "mode": "resident"}
    found = run(waiting, wave, {"u": u, "v": v}, 4, blocks=(2, 1, 2), **options)
    same(found, numpy_steps(numpy_wave, (u, v), periodic, 4, (c,)))


@pytest.mark.parametrize("periodic", BOX[::3])
def test_twenty_six_neighbours(waiting, periodic):
    n = random((4, 5, 6), np.int32)
    found = run(waiting, corners, {"n": n}, 3, periodic=periodic, mode="resident", blocks=(2, 2, 2))
    same(found, numpy_steps(numpy_corners, (n,), periodic, 3))


@pytest.mark.parametrize(
    ("periodic", "blocks"),
    [((False, False), (2, 3)), ((True, False), (1, 1)), ((True, True), (3, 2))],
)
def test_four_neighbours(waiting, periodic, blocks):
    t, c = random((13, 11)), np.float32(0.2)
    options = {"periodic": periodic, "args": (0.2,), "mode": "resident", "blocks": blocks}
    found = run(waiting, heat, {"t": t}, 5, **options)
    same(found, numpy_steps(numpy_heat, (t,), periodic, 5, (c,)))


def test_eight_neighbours_several_fields_and_a_wide_halo(waiting):
    given = {name: random((9, 12), np.int32) for name in ("a", "b", "own")}
    options = {"periodic": (True, False), "mode": "resident", "blocks": (2, 3)}
    found = run(waiting, pair, given, 3, **options)
    same(found, numpy_steps(numpy_pair, tuple(given.values()), (True, False), 3))


def test_a_fixed_boundary(waiting):
    t, c = random((9, 8)), np.float32(0.2)
    options = {"periodic": (False, True), "boundary": "fixed", "args": (0.2,)}
    found = run(waiting, heat, {"t": t}, 4, mode="resident", blocks=(3, 2), **options)
    same(found, numpy_steps(numpy_heat, (t,), (False, True), 4, (c,), fixed=(0,)))


def test_the_cut_is_chosen(waiting):
    t, c = random((40, 33)), np.float32(0.2)
    ref = waiting.lattice(heat, (40, 33), args=(0.2,), mode="resident")
    assert ref.mode == "resident"
    assert ref.blocks is not None
    ref.write(t=t)
    ref.activate()
    ref.step(2)
    ref.step(1)
    same((ref.read("t"),), numpy_steps(numpy_heat, (t,), (False, False), 3, (c,)))


def test_messages_and_writes_between_steps(waiting):
    t = random((9, 12))
    ref = waiting.lattice(
        driven, (9, 12), state=Drive(4, 4, 0.5, 0), mode="resident", blocks=(2, 2)
    )
    ref.write(t=t)
    ref.activate()
    ref.step(3)
    assert ref.post(Source(1, 2, 3.0)) == 3
    ref.step(4)
    schedule = {0: [Source(4, 4, 0.5)], 3: [Source(1, 2, 3.0)]}
    same((ref.read("t"),), (numpy_driven(t, schedule, 7)[0],))
    ref.write(t=t)
    ref.step(2)
    schedule = {0: [Source(1, 2, 3.0)]}
    same((ref.read("t"),), (numpy_driven(t, schedule, 2)[0],))


def test_messages_for_steps_under_way(waiting):
    """Blocks stop at the step of a message, handle it, and go on."""
    t = random((9, 12))
    options = {"state": Drive(4, 4, 0.5, 0), "mode": "resident", "blocks": (2, 2)}
    ref = waiting.lattice(driven, (9, 12), **options)
    ref.write(t=t)
    ref.activate()
    schedule = {0: [Source(1, 2, 3.0)], 2: [Source(3, 2, -1.0), Source(3, 3, 2.0)], 5: [Stop(5)]}
    orders = ref._resident.orders
    for step, messages in schedule.items():
        for message in messages:
            orders.post(message, step)
    ref.step(7)
    expected, drive = numpy_driven(t, schedule, 7)
    same((ref.read("t"),), (expected,))
    assert ref.read_state() == drive
    assert (orders.marks == [7, 4]).all()


def test_more_messages_than_slots(waiting):
    t = random((9, 12))
    ref = waiting.lattice(driven, (9, 12), mode="resident", blocks=(1, 2))
    ref.write(t=t)
    ref.activate()
    schedule = {0: [Source(n % 9, n % 12, n / 8) for n in range(150)]}
    assert {ref.post(message) for message in schedule[0]} == {0}
    ref.step(2)
    expected, drive = numpy_driven(t, schedule, 2)
    same((ref.read("t"),), (expected,))
    assert ref.read_state() == drive


def test_refusals(waiting):
    def refused(match, lattice, shape, **options):
        with pytest.raises(LaunchError, match=match):
            waiting.lattice(lattice, shape, mode="resident", **options)

    refused("fields of 4 bytes.*float64", far, (8, 8, 8), args=(np.zeros(2),))
    refused("smaller than the halo of 1", heat, (4, 4), args=(0.1,), blocks=(5, 1))
    refused("bytes of shared memory", wave, (512, 512, 512), args=(0.1,))
    refused("bytes of shared memory", wave, (64, 64, 64), args=(0.1,), blocks=(1, 1, 1))
    refused("200 blocks stay on the device", heat, (200, 4), args=(0.1,), blocks=(200, 1))
    with pytest.raises(ValueError, match="number for each of 2 axes"):
        waiting.lattice(heat, (8, 8), args=(0.1,), mode="resident", blocks=(1, 1, 1))


def test_other_devices_say_how_they_step(on_cpu):
    assert on_cpu.lattice(heat, (8, 8), args=(0.1,)).mode == "launches"
    with pytest.raises(LaunchError, match="mode='launches'"):
        on_cpu.lattice(heat, (8, 8), args=(0.1,), mode="resident")
    with pytest.raises(ValueError, match="mode='resident'"):
        on_cpu.lattice(heat, (8, 8), args=(0.1,), blocks=(2, 2))


def test_routes_and_headers(waiting):
    ref = waiting.lattice(heat, (8, 9), args=(0.1,), mode="resident", blocks=(2, 3))
    ref.activate()
    ref.step(3)
    tables = ref.routes()
    assert tables.shape == (6,)
    assert tables["count"].tolist() == [4] * 6
    assert (tables["version"] % 2 == 0).all()
    corner = tables[0]["entries"]["flags"].tolist()  # down and to the right alone
    assert corner == [0, 0, 1, 1] + [0] * 22
    headers = ref.headers()
    known = headers["bytes"] > 0
    assert known.sum() == 2 * 7  # each of seven faces, from both sides
    assert (headers["step"][known] == 3).all()
    assert headers["source"][0, 2] == 1 or headers["source"][0, 2] == 3


@pytest.mark.parametrize("periodic", BOX)
def test_every_value_of_a_halo_comes_once(periodic):
    """Each place of each halo has one sender, whose own cell it is."""
    space = space_of(corners, (5, 6, 7), periodic, "zero")
    tiles = Tiles(space, (2, 3, 2))
    lists = lists_of(tiles, 8)
    names = np.arange(5 * 6 * 7).reshape(5, 6, 7)
    arrived: dict[int, int] = {}
    for block in range(tiles.count):
        inside = tuple(slice(*ends) for ends in tiles.box(block))
        tile = np.full(tiles.padded, -1)
        sizes = [end - first for first, end in tiles.box(block)]
        tile[tuple(slice(1, 1 + n) for n in sizes)] = names[inside]
        for cell, targets in zip(lists.shell[block], lists.targets[block], strict=True):
            for target in targets[targets >= 0] if cell >= 0 else ():
                route = lists.routes["entries"][block, target // ENTRY]
                slot = int(route["inbox"]) + target % ENTRY
                assert slot not in arrived
                arrived[slot] = int(tile.reshape(-1)[cell + tiles.corner])
    wrapped = np.full((7, 8, 9), -1)
    wrapped[space.inside] = names
    wrapped = np.where(space.with_padding(np.ones((5, 6, 7), int)), space.with_padding(names), -1)
    row = lists.halo.shape[1]
    for block in range(tiles.count):
        first = [begin for begin, _ in tiles.box(block)]
        for at, place in enumerate(lists.halo[block]):
            if place >= 0:
                local = np.unravel_index(place, tiles.padded)
                there = tuple(a + b for a, b in zip(local, first, strict=True))
                assert arrived.pop(block * row + at) == wrapped[there]
    assert not arrived


def test_the_cut_fits():
    space = space_of(wave, (128, 128, 128), False, "zero")
    tiles = best_tiles(space, 132, 227 * 256, 2)
    assert tiles is not None
    assert tiles.count <= 132
    assert tiles.size * 2 <= 227 * 256
    assert best_tiles(space, 64, 227 * 256, 2) is None
