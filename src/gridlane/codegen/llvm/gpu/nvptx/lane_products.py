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
