"""A product of matrices by wmma, as compilers unroll it: 32 rows by 32 columns of sums a warp."""

from __future__ import annotations

TILES = 2
"""Tiles of a warp's rows and columns."""


def _regs(name: str) -> str:
    return "{" + ", ".join(f"%{name}_{n}" for n in range(8)) + "}"


def gemm(steps: int, barriers: bool = False) -> str:
    """PTX of a kernel ``gemm(a, b, c)``: c += a @ b, of ``steps`` times 16 of the inner extent.

    A block has two warps, each with 32 rows of a; b has 32 columns and lies by columns. With
    barriers the sums live across them, and each step doubles one of its sums by another op.
    """
    pairs = [(row, column) for row in range(TILES) for column in range(TILES)]
    shape, sums = "m16n16k16", "f32.f32"
    depth, lines = 16 * steps, list[str]()
    for row, column in pairs:
        at = 4 * (16 * row * 32 + 16 * column)
        lines.append(
            f"wmma.load.c.sync.aligned.row.{shape}.global.f32 {_regs(f'c{row}{column}_0')}, "
            f"[%pc+{at}], 32;"
        )
    for step in range(steps):
        if barriers:
            lines.append("bar.sync 0;")
            for n in range(8 if step else 0):  # %c00 doubles
                lines.append(f"add.f32 %s{step}_{n}, %c00_{step}_{n}, %c00_{step}_{n};")
        for side, layout in (("a", "row"), ("b", "col")):
            for tile in range(TILES):
                at = 2 * (16 * tile * depth + 16 * step)
                lines.append(
                    f"wmma.load.{side}.sync.aligned.{layout}.{shape}.global.f16 "
                    f"{_regs(f'{side}{tile}_{step}')}, [%p{side}+{at}], {depth};"
                )
        for row, column in pairs:
            old, new = f"c{row}{column}_{step}", f"c{row}{column}_{step + 1}"
            if barriers and step and not row and not column:
                old = f"s{step}"
            lines.append(
                f"wmma.mma.sync.aligned.row.col.{shape}.{sums} {_regs(new)}, "
                f"{_regs(f'a{row}_{step}')}, {_regs(f'b{column}_{step}')}, {_regs(old)};"
            )
    for row, column in pairs:
        at = 4 * (16 * row * 32 + 16 * column)
        name = f"c{row}{column}_{steps}"
        lines.append(
            f"wmma.store.d.sync.aligned.row.{shape}.global.f32 [%pc+{at}], {_regs(name)}, 32;"
        )
    names = [
        *(f".b32 %{side}{t}_{s}_<8>;" for side in "ab" for t in range(TILES) for s in range(steps)),
        *(f".f32 %c{row}{column}_{s}_<8>;" for row, column in pairs for s in range(steps + 1)),
        *(f".f32 %s{step}_<8>;" for step in range(steps)),
    ]
    registers = "\n".join(f".reg {name}" for name in names)
    return f""".version 7.8
.target sm_80
.address_size 64
.visible .entry gemm(.param .u64 a, .param .u64 b, .param .u64 c) {{
.reg .b64 %pa, %pb, %pc, %d<3>; .reg .b32 %r<3>;
{registers}
ld.param.u64 %pa, [a]; ld.param.u64 %pb, [b]; ld.param.u64 %pc, [c];
cvta.to.global.u64 %pa, %pa; cvta.to.global.u64 %pb, %pb; cvta.to.global.u64 %pc, %pc;
mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5;
mul.wide.u32 %d0, %r1, {2 * 32 * depth}; add.s64 %pa, %pa, %d0;
mul.wide.u32 %d1, %r1, {4 * 32 * 32}; add.s64 %pc, %pc, %d1;
{chr(10).join(lines)}
ret; }}
"""
