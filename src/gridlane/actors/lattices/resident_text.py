"""The text of a resident lattice's kernel.

A block keeps its tile in shared memory: for each field with neighbours a front buffer, which a step
reads, and a back buffer, which it writes; for each other field one buffer. A step computes the
cells near the faces, stores them in the neighbours' halos, computes the inner cells, and waits for
its own halo.

Memory order: a value and the number of its step share one word of 64 bits, so no fence is needed. A
halo has one word for even steps and one for odd ones. The sender of step s + 2 has the receiver's
values of step s + 1, which the receiver sends after all values of step s have arrived.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.lattices.lists import ENTRY
from gridlane.actors.lattices.orders_text import look_text
from gridlane.actors.lattices.stepping import copies_of
from gridlane.actors.lattices.tiles import Tiles
from gridlane.core.generated_text import indented

MOST_COLUMN = 16


@dataclass(frozen=True, slots=True)
class Design:
    """The parameters of the text.

    Attributes:
        threads: of a block.
        shell, halo, targets: the rows of the lists by block, in threads; the most targets.
        lockstep: whether a barrier of the grid stands before the waits, for devices that schedule
            blocks one after the other.
    """

    lattice: Lattice
    tiles: Tiles
    threads: int
    shell: int
    halo: int
    targets: int
    lockstep: bool

    @property
    def moving(self) -> list[str]:
        """The fields with neighbours."""
        return [name for name, _ in self.lattice.fields if self.lattice.has_halo(name)]

    @property
    def still(self) -> list[str]:
        """The fields with one buffer."""
        kept = self.lattice.reads.kept
        names = [name for name, _ in self.lattice.fields if name not in kept]
        return [name for name in names if name not in self.moving]

    @property
    def buffers(self) -> int:
        """The buffers of a tile."""
        return 2 * len(self.moving) + len(self.still)

    @property
    def words(self) -> int:
        """Words of 64 bits in which halos arrive, for one kind of step and one field."""
        return self.tiles.count * self.halo * self.threads

    @property
    def column(self) -> int:
        """Inner cells in a column that one thread computes, whose values it shares."""
        inner = self.inner
        wide = self.tiles.largest[2]
        others = inner[1] * wide if self.tiles.space.pads[0] else wide
        most = inner[0] if self.tiles.space.pads[0] else inner[1]
        best, least = 1, 0.0
        for height in range(1, min(most, 2 if self.lockstep else MOST_COLUMN) + 1):
            rows, left = divmod(most, height)
            iterations = -(-rows * others // self.threads)
            cost = iterations * (height * 5 + 4) + left * -(-others // self.threads) * 9
            if height == 1 or cost < least:
                best, least = height, cost
        return best

    @property
    def inner(self) -> tuple[int, int, int]:
        """The inner cells of the largest tile along each axis."""
        sizes = zip(self.tiles.largest, self.tiles.margins, strict=True)
        z, y, x = (max(0, n - 2 * margin) for n, margin in sizes)
        return z, y, x

    def base(self, name: str) -> str:
        """The begin of a field that is read, with the variables ``front`` and ``back``."""
        size = self.tiles.size
        if name in self.moving:
            return f"front + {self.moving.index(name) * size}"
        of = self.lattice.reads.kept.get(name)
        if of is not None:
            return f"back + {self.moving.index(of) * size}"
        return str((2 * len(self.moving) + self.still.index(name)) * size)

    def target(self, name: str) -> str:
        """The begin of a field that is written."""
        base = self.base(name)
        return base.replace("front", "back") if name in self.moving else base


_BOX = "z0", "y0", "x0", "nz", "ny", "nx"
"""What a kernel has of its block's box."""


def resident_text(design: Design) -> str:
    """The kernel; ``resident.py`` has its arguments."""
    lattice = design.lattice
    names = [name for name, _ in lattice.fields]
    arrays = [f"all_{name}" for name in names]
    state = ["state"] if lattice.state is not None else []
    given = [*arrays, "boxes", "shell", "targets", "halo", "routes", "headers", "slots", *state]
    given += ["orders", "control", "marks", "ring", "relay"]
    given += [f"letters_{number}" for number in range(len(lattice.handlers))]
    half = len(design.moving) * design.tiles.size
    body = [
        "t = cuda.threadIdx.x",
        "block = cuda.blockIdx.x",
        *[f"memory_{kind} = cuda.shared.array(0, {kind})" for kind in _kinds(design)],
        *[f"{name} = boxes[block, {place}]" for place, name in enumerate(_BOX)],
        f"front = cuda.int32(0); back = cuda.int32({half})".replace("; ", "\n    "),
        *_load(design),
        *_lists(design),
        "cuda.syncthreads()",
        "cuda.cg.this_grid().sync()",
        "step = cuda.int64(first)",
        "until, seen = step, cuda.int64(handled)",
        "told = cuda.shared.array(2, cuda.int64)",
        "while True:",
        "    if step == until:",
        "        if t == 0:",
        *indented(look_text(lattice), 3),
        "            told[0], told[1] = until, leave",
        "        cuda.syncthreads()",
        "        until = told[0]",
        "        if told[1] != 0:",
        "            break",
        *indented(_step(design), 1),
        "    step += 1",
        *_save(design),
    ]
    given += ["first", "handled", "linger", "epoch", "args"]
    head = f"def lattice_resident({', '.join(given)}):"
    return "\n".join([head, *indented(body, 1)]) + "\n"


def _kinds(design: Design) -> list[str]:
    return list(dict.fromkeys(str(kind) for _, kind in design.lattice.fields))


def _memory(design: Design, name: str) -> str:
    return f"memory_{dict(design.lattice.fields)[name]}"


# --- between the fields in global memory and the tile ---


def _over_tile(design: Design, pads: bool, inside: list[str]) -> list[str]:
    """A loop over the cells of the tile, with ``there`` in global memory and ``here`` in the tile;
    including the halo, if ``pads``."""
    space, tiles = design.tiles.space, design.tiles
    plane, row, _ = space.steps
    own_plane, own_row, _ = tiles.steps
    pz, py, px = space.pads if pads else (0, 0, 0)
    mz, my, mx = (0, 0, 0) if pads else space.pads
    return [
        f"wide, high = nx + {2 * px}, ny + {2 * py}",
        f"for n in range(t, (nz + {2 * pz}) * high * wide, {design.threads}):",
        "    lz = n // (high * wide)",
        "    ly = n // wide - lz * high",
        "    lx = n - (lz * high + ly) * wide",
        f"    here = (lz + {mz}) * {own_plane} + (ly + {my}) * {own_row} + lx + {mx}",
        f"    there = (z0 + lz + {mz}) * {plane} + (y0 + ly + {my}) * {row} + x0 + lx + {mx}",
        *indented(inside, 1),
    ]


def _load(design: Design) -> list[str]:
    lines: list[str] = []
    for name, _ in design.lattice.fields:
        memory, array = _memory(design, name), f"all_{name}"
        there = "[cuda.uint64(there)]"
        lines.append(f"{memory}[cuda.uint64({design.base(name)} + here)] = {array}[0]{there}")
        if name in design.moving and name not in design.lattice.reads.kept.values():
            back = f"{memory}[cuda.uint64({design.target(name)} + here)]"
            lines.append(f"{back} = {array}[1]{there}")
    return _over_tile(design, True, lines)


def _save(design: Design) -> list[str]:
    space = design.tiles.space
    lines = ["z, y, x = z0 + lz, y0 + ly, x0 + lx", "base = there"]
    for name, _ in design.lattice.fields:
        memory = _memory(design, name)
        lines.append(f"n_{name} = {memory}[cuda.uint64({design.base(name)} + here)]")
        lines.append(f"new_{name} = all_{name}[0]")
        lines.append(f"new_{name}[cuda.uint64(there)] = n_{name}")
        if name in design.moving:
            lines += copies_of(space, name)
    return _over_tile(design, False, lines)


def _lists(design: Design) -> list[str]:
    """Each thread's cells of the shell, their targets, and its values of the halo."""
    lines = [f"arrives = block * {design.halo * design.threads} + t", "table = routes[block]"]
    for k in range(design.shell):
        index = f"block, t + {k * design.threads}"
        lines.append(f"s_{k} = shell[{index}]")
        for d in range(design.targets):
            lines.append(f"d_{k}_{d} = targets[{index}, {d}]")
            lines.append(f"if d_{k}_{d} >= 0:")
            lines.append(
                f"    d_{k}_{d} = cuda.int32(table.entries[d_{k}_{d} // {ENTRY}].inbox) + "
                f"d_{k}_{d} % {ENTRY}"
            )
    lines += [f"h_{k} = halo[block, t + {k * design.threads}]" for k in range(design.halo)]
    return lines


# --- a step ---


def _step(design: Design) -> list[str]:
    lines = [
        "number = cuda.uint32(step + 1)",
        f"kind = (step % 2) * {len(design.moving) * design.words}",
        *_shell(design),
        *_headers(design),
        *_inner(design),
        *(["cuda.cg.this_grid().sync()"] if design.lockstep else []),
        *_arrivals(design),
        "cuda.syncthreads()",
        "front, back = back, front",
    ]
    return lines


def _cell(design: Design, place: str, mark: str) -> list[str]:
    """The new values ``n_NAME`` of the cell with its corner at ``place`` in the tile."""
    lattice = design.lattice
    plane, row, _ = design.tiles.steps
    fields = [
        f"Cells({_memory(design, name)}, {design.base(name)} + {place})"
        for name, _ in lattice.fields
    ]
    coordinates = [
        f"at = {place}",
        f"lz = at // {plane}",
        f"ly = at // {row} - lz * {plane // row}",
        f"lx = at - lz * {plane} - ly * {row}",
    ]
    where = "y0 + ly, x0 + lx"
    if lattice.axes == 3:
        where = f"z0 + lz, {where}"
    state = ["state[block]"] if lattice.state is not None else []
    given = ", ".join([f"Context({where}, step)", *state, *fields])
    targets = ", ".join(f"n_{name}{mark}" for name, _ in lattice.fields)
    lines = [*coordinates, f"{targets} = cell({given}, *args)"]
    for name, kind in lattice.fields:
        if name not in lattice.reads.kept:
            lines.append(f"n_{name}{mark} = {kind}(n_{name}{mark})")
    return lines


def _keep(design: Design, place: str, mark: str) -> list[str]:
    return [
        f"{_memory(design, name)}[cuda.uint64({design.target(name)} + {place} + "
        f"{design.tiles.corner})] = n_{name}{mark}"
        for name, _ in design.lattice.fields
        if name not in design.lattice.reads.kept
    ]


def _shell(design: Design) -> list[str]:
    lines: list[str] = []
    for k in range(design.shell):
        inside = [*_cell(design, f"s_{k}", ""), *_keep(design, f"s_{k}", "")]
        sends: list[str] = []
        for number, name in enumerate(design.moving):
            sends.append(f"w_{number} = word_of(n_{name}, number)")
        for d in range(design.targets):
            stores = [
                f"store_volatile(slots, cuda.uint64(kind + {number * design.words} + d_{k}_{d}), "
                f"w_{number})"
                for number in range(len(design.moving))
            ]
            sends += [f"if d_{k}_{d} >= 0:", *indented(stores, 1)]
        lines += [f"if s_{k} >= 0:", *indented([*inside, *sends], 1)]
    return lines


def _headers(design: Design) -> list[str]:
    """Publish the sent halos in their headers."""
    count, row = len(design.tiles.directions), design.halo * design.threads
    return [
        f"if {design.threads - count} <= t:",
        f"    way = t - {design.threads - count}",
        "    route = table.entries[way]",
        "    if route.flags == 1:",
        f"        header = headers[route.inbox // {row}, {count - 1} - way]",
        "        header.step = step + 1",
        "        header.epoch = cuda.uint32(epoch)",
    ]


def _inner(design: Design) -> list[str]:
    """The cells away from the faces, in columns along the first axis. Threads are assigned to whole
    rows, so that those of a warp read words of different banks."""
    tiles, height = design.tiles, design.column
    plane, row, _ = tiles.steps
    mz, my, mx = tiles.margins
    deep = bool(tiles.space.pads[0])
    sizes = [f"max(0, n{axis} - {2 * m})" for axis, m in zip("zy", (mz, my), strict=True)]
    wide = "nx"
    if tiles.is_even:
        sizes, wide = [str(each) for each in design.inner[:2]], str(tiles.largest[2])
    most, across = (sizes[0], sizes[1]) if deep else (sizes[1], "1")
    along, first = (plane, mz) if deep else (row, my)
    corner = f"(ly + {my}) * {row} + lx" if deep else "lx"
    place = ["up = n // over", "left = n - up * over", f"ly = left // {wide}"]
    place.append(f"lx = left - ly * {wide}")
    inside = [f"if {mx} <= lx < {wide} - {mx}:"] if mx else ["if True:"]
    computed: list[str] = [f"base = ({first} + up * {height}) * {along} + {corner}"]
    for q in range(height):
        computed += _cell(design, f"(base + {q * along})", f"_{q}")
    for q in range(height):
        computed += _keep(design, f"base + {q * along}", f"_{q}")
    lines = [
        f"over = {across} * {wide}",
        f"rows = {most} // {height}",
        f"for n in range(t, rows * over, {design.threads}):",
        *indented([*place, *inside, *indented(computed, 1)], 1),
    ]
    if height > 1 and not (tiles.is_even and int(most) % height == 0):
        rest = [f"base = ({first} + rows * {height} + up) * {along} + {corner}"]
        rest += [*_cell(design, "base", ""), *_keep(design, "base", "")]
        lines += [
            f"for n in range(t, ({most} - rows * {height}) * over, {design.threads}):",
            *indented([*place, *inside, *indented(rest, 1)], 1),
        ]
    return lines


def _arrivals(design: Design) -> list[str]:
    lines: list[str] = []
    for number in range(len(design.moving)):
        for k in range(design.halo):
            index = f"cuda.uint64(kind + arrives + {number * design.words + k * design.threads})"
            lines.append(f"w_{number}_{k} = load_volatile(slots, {index})")
    for number, name in enumerate(design.moving):
        kind = dict(design.lattice.fields)[name]
        for k in range(design.halo):
            index = f"cuda.uint64(kind + arrives + {number * design.words + k * design.threads})"
            word = f"w_{number}_{k}"
            there = f"cuda.uint64({design.target(name)} + h_{k})"
            lines += [
                f"if h_{k} >= 0:",
                f"    while number_of({word}) != number:",
                f"        {word} = load_volatile(slots, {index})",
                f"    {_memory(design, name)}[{there}] = from_bits(value_of({word}), {kind})",
            ]
    return lines
