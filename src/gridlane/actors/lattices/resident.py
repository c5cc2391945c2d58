"""Lattices whose blocks stay on a device for many steps, with their tiles in shared memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.actors.lattices.cells import Context2, Context3, Handling, cells_class
from gridlane.actors.lattices.compiled import Compiled
from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.lattices.lists import Lists, lists_of
from gridlane.actors.lattices.memory import Memory
from gridlane.actors.lattices.orders import GOAL, SLOTS, WISH, Orders
from gridlane.actors.lattices.orders_text import LINGER
from gridlane.actors.lattices.resident_text import Design, resident_text
from gridlane.actors.lattices.space import Space, Triple
from gridlane.actors.lattices.tiles import Tiles, best_tiles
from gridlane.actors.lattices.watch import Watch
from gridlane.actors.layouts.python import dtype as numpy_dtype
from gridlane.actors.values.messages import shape_of
from gridlane.core.errors import LaunchError
from gridlane.cuda import int64, jit, uint32, uint64
from gridlane.frontends.python.system import bits_of, from_bits, load_volatile, store_volatile

THREADS = 512
TURNS = 16
"""The most blocks on devices that schedule them one after the other."""
SPIN = 200
"""Polls of a waiting thread, some hundred microseconds, before it yields between polls: a sleep,
even one of no time, takes 50 of them."""
STATIC = 256
"""Bytes of shared memory besides the tile, at most."""
MOST_LISTED = 16
"""The most cells of a shell, or values of a halo, for each thread, which has them in registers."""


@jit(device=True)
def _word_of(value: Any, number: Any) -> Any:
    return (uint64(number) << uint64(32)) | uint64(bits_of(value))


@jit(device=True)
def _number_of(word: Any) -> Any:
    return uint32(word >> uint64(32))


@jit(device=True)
def _value_of(word: Any) -> Any:
    return uint32(word)


@jit(device=True)
def _stamp(ring: Any, number: Any) -> Any:
    """The step before which a message is handled."""
    slot = number % SLOTS
    low, high = load_volatile(ring, (slot, 0)), load_volatile(ring, (slot, 1))
    return int64(low) | (int64(high) << 32)


def _check(lattice: Lattice) -> None:
    """Raise LaunchError for a lattice whose blocks cannot stay."""
    for name, kind in lattice.fields:
        if kind.numpy.itemsize != 4:
            raise LaunchError(
                f"{lattice.name}: a resident lattice has fields of 4 bytes, and {name} is a "
                f"{kind}; launch it with mode='launches'"
            )
    if not any(lattice.has_halo(name) for name, _ in lattice.fields):
        raise LaunchError(
            f"{lattice.name} reads no neighbours, so that its blocks have no halos: launch it "
            "with mode='launches'"
        )


def _parts(design: Design, lists: Lists) -> list[Any]:
    """The arrays of all blocks: their boxes, lists, and the slots of what they exchange."""
    boxes = [design.tiles.box(block) for block in range(design.tiles.count)]
    table = [[*(a for a, _ in box), *(b - a for a, b in box)] for box in boxes]
    slots = np.zeros(2 * len(design.moving) * design.words, np.uint64)
    targets = lists.targets if design.targets else np.full((1, 1, 1), -1, np.int32)
    first = np.array(table, np.int32), lists.shell, targets, lists.halo
    return [*first, lists.routes, lists.headers, slots]


class Resident:
    """The kernel of many steps, its lists, and its launch on the current device.

    Attributes:
        epoch: the number of launches of the blocks.

    Raises:
        LaunchError: the device cannot hold all blocks at once, or a tile does not fit in a block's
            shared memory, with the numbers.
    """

    def __init__(
        self,
        lattice: Lattice,
        space: Space,
        device: Any,
        blocks: Triple | None,
        threads: int | None = None,
    ) -> None:
        _check(lattice)
        self._lattice, self._space = lattice, space
        self.tiles = _tiles(lattice, space, device, blocks)
        self._budget: Any = getattr(device, "multiprocessors", None)
        if self._budget is not None:
            self._budget.take(self, self.tiles.count, device.limits.multiprocessors)
        on_gpu = device.name.startswith("cuda")
        threads = threads or (THREADS if on_gpu else 32)
        self.threads = threads
        lists = lists_of(self.tiles, threads)
        self.design = design = Design(
            lattice,
            self.tiles,
            threads,
            lists.shell.shape[1] // threads,
            lists.halo.shape[1] // threads,
            lists.targets.shape[2],
            not on_gpu,
        )
        if max(design.shell, design.halo) > MOST_LISTED:
            raise LaunchError(
                f"{lattice.name}: a tile of {self.tiles.largest} cells has {lists.shell.shape[1]} "
                f"cells near its faces and {lists.halo.shape[1]} in its halo; a block of {threads} "
                f"threads keeps {MOST_LISTED * threads} at most"
            )
        self._parts = [cuda.to_device(each) for each in _parts(design, lists)]
        self.shared = design.buffers * self.tiles.size * 4
        self.orders = Orders(lattice, self.tiles.count, on_gpu)
        self._device, self._stays = device, on_gpu
        self._runs, self._done, self._goal = False, 0, 0
        self.epoch = 0
        self._kernel = self._compiled(device)

    def _compiled(self, device: Any) -> Compiled:
        lattice = self._lattice
        around: dict[str, Any] = {
            "cuda": cuda,
            "cell": lattice.cell,
            "Cells": cells_class(lattice.axes, *self.tiles.steps[:2], lattice.halo, uint64),
            "Context": Context2 if lattice.axes == 2 else Context3,
            "load_volatile": load_volatile,
            "store_volatile": store_volatile,
            "from_bits": from_bits,
            **{"word_of": _word_of, "number_of": _number_of, "value_of": _value_of},
            **{str(kind): kind for _, kind in lattice.fields},
            **{"_stamp": _stamp, "Handling": Handling},
        }
        for number, (cls, handler) in enumerate(lattice.handlers.items()):
            around[f"handle_{number}"] = handler
            around[f"Record_{number}"] = numpy_dtype(shape_of(cls, "message").layout)
        text = resident_text(self.design)
        block, bounds = (self.threads, 1, 1), (self.threads, 1)
        return Compiled(text, "lattice_resident", around, lattice, device, block, bounds)

    def adopt(self, step: int, epoch: int) -> None:
        """Continue after a step; the blocks do not run."""
        self._done = self._goal = step
        self.epoch = epoch

    def end(self) -> None:
        """Release the multiprocessors: the blocks have left for good."""
        if self._budget is not None:
            self._budget.give_back(self)

    def attach(self, memory: Memory, args: tuple[Any, ...], watch: Watch) -> None:
        """Bind the memory of the fields, the arguments of the cell's function, and the watchdog of
        its steps."""
        self._memory, self._args, self._watch = memory, args, watch

    def step(self, first: int, count: int) -> None:
        """Take steps after the first ones: order the blocks, or launch them where they have
        left."""
        self.orders.words[GOAL] = self._goal = first + count
        self._follow()

    def post(self, message: Any, step: int) -> None:
        """Post a message that is handled before a step."""
        while not self.orders.has_room:
            self._follow()
            if not self._runs:
                self._launch(self._goal)
        self.orders.post(message, step)

    def _follow(self) -> None:
        """Launch the blocks if they have left before their goal."""
        if self._runs and self.orders.left:
            self._device.default_stream.synchronize()
            self._runs, self._done = False, self.orders.step
        if not self._runs and self._done < self._goal:
            self._launch(self._goal)

    def _launch(self, goal: int) -> None:
        seen = self.orders.begin(self._done, goal, self._stays)
        memory = self._memory
        given = (*memory.pairs, *self._parts, *memory.state, *self.orders.arguments)
        given = (*given, self._done, seen, LINGER, self.epoch, self._args)
        self._kernel.launch((self.tiles.count, 1, 1), given, self.shared)
        self._runs = True
        self.epoch += 1
        self.orders.end()

    def settle(self) -> None:
        """Wait until the goal is reached and all messages are handled, and make the blocks leave:
        fields and state are then in the buffers."""
        while True:
            self._follow()
            if not self._runs:
                if self.orders.handled == self.orders.posted:
                    return
                self._launch(self._goal)
            self.orders.words[WISH] = 1
            self._spin(lambda: self.orders.left)

    def wait(self) -> None:
        """Wait until the goal is reached."""
        self._follow()
        while self._runs and self.orders.step < self._goal:
            self._spin(lambda: self.orders.left or self.orders.step >= self._goal)
            self._follow()

    def _spin(self, is_so: Callable[[], bool]) -> None:
        """Poll the blocks' status until a condition is true.

        Raises:
            DeviceError: the device has failed, so that its blocks publish nothing.
            ActorError: a step does not end.
        """
        looks = 0
        self._watch.begin()
        while not is_so():
            looks += 1
            if looks % 1024 == 0 and self._device.default_stream.query():
                return  # the kernel has ended
            if looks % 1024 == 0:
                self._watch.look(self.orders.step, (self.orders.step, self.orders.handled))
            if looks > SPIN:
                time.sleep(0)

    def routes(self) -> np.ndarray[Any, Any]:
        """The routing tables, one of each block."""
        return self._parts[4].copy_to_host()

    def headers(self) -> np.ndarray[Any, Any]:
        """The headers of the halos, (blocks, directions)."""
        return self._parts[5].copy_to_host()


def _tiles(lattice: Lattice, space: Space, device: Any, blocks: Triple | None) -> Tiles:
    words = (device.limits.max_dynamic_shared - STATIC) // 4
    moving = [name for name, _ in lattice.fields if lattice.has_halo(name)]
    still = len(lattice.fields) - len(moving) - len(lattice.reads.kept)
    buffers = 2 * len(moving) + still
    most, beside = _most(device)
    if not most:
        raise LaunchError(
            f"{lattice.name}: no multiprocessor of {device.name} is left for its blocks{beside}"
        )
    if blocks is None:
        best = best_tiles(space, most, words, buffers)
        if best is not None:
            return best
        least = -(-space.size * buffers * 4 // most)
        raise LaunchError(
            f"{lattice.name}: {space.extents} cells in {buffers} buffers are {least} bytes or more "
            f"for each of {most} multiprocessors{beside}, with halos more; a block of "
            f"{device.name} has {words * 4} bytes of shared memory"
        )
    tiles = Tiles(space, blocks)
    if not tiles.fits_halo:
        raise LaunchError(
            f"{lattice.name}: blocks={blocks} makes tiles that are smaller than the halo of "
            f"{space.halo} cells"
        )
    if tiles.size * buffers > words:
        raise LaunchError(
            f"{lattice.name}: a tile of {tiles.largest} cells with its halo, in {buffers} buffers, "
            f"has {tiles.size * buffers * 4} bytes; a block of {device.name} has {words * 4} bytes "
            "of shared memory"
        )
    if tiles.count > most:
        raise LaunchError(
            f"{lattice.name}: {tiles.count} blocks stay on the device at once, and {device.name} "
            f"holds {most}, one on each multiprocessor{beside}"
        )
    return tiles


def _most(device: Any) -> tuple[int, str]:
    """The most blocks that can be resident on a device, and a text that names the users of the
    other multiprocessors."""
    budget: Any = getattr(device, "multiprocessors", None)
    if budget is None:
        return TURNS, ""
    count = device.limits.multiprocessors
    left = budget.left(count)
    return left, "" if left == count else f", besides {count - left} of actors and other lattices"
