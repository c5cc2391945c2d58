"""Products of small matrices in registers, by mma.sync."""

from __future__ import annotations

from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.overlay import emits, require
from gridlane.codegen.llvm.text import scalar_name
from gridlane.core.errors import TargetError
from gridlane.ir.ops import products
from gridlane.ir.ops.matrix_instructions import instruction
from gridlane.ir.ops.products import Factor

_LETTERS = {"float": "f", "double": "d", "i32": "r"}


@emits(products.Mma)
def mma(state: Emission, op: products.Mma) -> None:
    """Emit the instruction."""
    name = scalar_name(op.c[0].type)
    sums = {"float": "f32", "double": "f64"}.get(name) or ("f16" if op.has_halves else "s32")
    found = instruction(op.rows, op.depth, op.left, sums)
    if found is None:
        kinds = f"{op.left.value} with sums of {sums}"
        raise TargetError(f"no mma multiplies {op.rows}x{op.depth} of {kinds}", op.loc)
    require(state, found.since, op, op.name)
    state.version, shape = max(state.version, found.version), found.shape
    kinds = f"{sums}.{op.left.value}.{op.right.value}.{sums}"
    limited = ".satfinite" if op.limited else ""
    word = "double" if op.left is Factor.F64 else "i32"
    a, b, c = ([state.name(value) for value in values] for values in (op.a, op.b, op.c))
    made = mma_sync(state, f"{shape}.row.col{limited}.{kinds}", word, (a, b), name, c)
    for value, register in zip(op.results, made, strict=True):
        state.set(value, register)


def mma_sync(
    state: Emission,
    what: str,
    word: str,
    factors: tuple[list[str], list[str]],
    name: str,
    sums: list[str],
) -> list[str]:
    """Emit one mma.sync; the new registers of the sums.

    Args:
        what: its shape and types in PTX.
        word, name: LLVM's types of registers of factors and of sums.
    """
    both, groups, number = [*factors[0], *factors[1]], list[str](), 0
    for count in (len(sums), *map(len, factors), len(sums)):
        groups.append("{" + ",".join(f"${number + n}" for n in range(count)) + "}")
        number += count
    text = f"mma.sync.aligned.{what} {', '.join(groups)};"
    letter, factor = _LETTERS[name], _LETTERS[word]
    constraints = [f"={letter}"] * len(sums) + [factor] * len(both) + [letter] * len(sums)
    arguments = [f"{word} {each}" for each in both] + [f"{name} {each}" for each in sums]
    one = len(sums) == 1
    result = name if one else "{ " + ", ".join([name] * len(sums)) + " }"
    # The instruction is convergent, so it must not move into a branch.
    registers = state.body.op(
        f'call {result} asm "{text}", "{",".join(constraints)}"({", ".join(arguments)}) '
        "convergent nounwind willreturn memory(none)"
    )
    if one:
        return [registers]
    return [state.body.op(f"extractvalue {result} {registers}, {n}") for n in range(len(sums))]
