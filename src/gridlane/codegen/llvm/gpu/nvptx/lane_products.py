"""Products of small matrices in registers, by mma.sync."""

from __future__ import annotations

from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.overlay import emits, require
from gridlane.codegen.llvm.text import scalar_name
from gridlane.ir.ops import products
from gridlane.ir.ops.products import Factor

_LETTERS = {"float": "f", "double": "d", "i32": "r"}


@emits(products.Mma)
def mma(state: Emission, op: products.Mma) -> None:
    """Emit the instruction."""
    is_byte_float = op.left.value[0] == "e"
    is_large = op.left is Factor.F64 and op.rows > 8
    require(state, 89 if is_byte_float else 90 if is_large else 80, op, op.name)
    name = scalar_name(op.c[0].type)
    sums = {"float": "f32", "double": "f64"}.get(name) or ("f16" if op.has_halves else "s32")
    if is_byte_float:
        newer = sums == "f16" or op.depth == 16
        state.version = max(state.version, 87 if newer else 84)
    shape = f"m{op.rows}n{products.COLUMNS}k{op.depth}"
    kinds = f"{sums}.{op.left.value}.{op.right.value}.{sums}"
    limited = ".satfinite" if op.limited else ""
    groups: list[str] = []
    number = 0
    for count in (len(op.c), len(op.a), len(op.b), len(op.c)):
        groups.append("{" + ",".join(f"${number + n}" for n in range(count)) + "}")
        number += count
    text = f"mma.sync.aligned.{shape}.row.col{limited}.{kinds} {', '.join(groups)};"
    word = "double" if op.left is Factor.F64 else "i32"
    letter, factor = _LETTERS[name], _LETTERS[word]
    factors = [*op.a, *op.b]
    constraints = [f"={letter}"] * len(op.c) + [factor] * len(factors) + [letter] * len(op.c)
    arguments = [f"{word} {state.name(value)}" for value in factors]
    arguments += [f"{name} {state.name(value)}" for value in op.c]
    one = len(op.c) == 1
    result = name if one else "{ " + ", ".join([name] * len(op.c)) + " }"
    # The instruction is convergent, so it must not move into a branch.
    registers = state.body.op(
        f'call {result} asm "{text}", "{",".join(constraints)}"({", ".join(arguments)}) '
        "convergent nounwind willreturn memory(none)"
    )
    for n, value in enumerate(op.results):
        state.set(
            value, registers if one else state.body.op(f"extractvalue {result} {registers}, {n}")
        )
