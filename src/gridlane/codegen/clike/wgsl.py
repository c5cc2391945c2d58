"""The WebGPU Shading Language.

WGSL lets an implementation reorder and contract float operations, which rounding.py prevents. It
also lets it flush subnormals, assume that NaN and infinity are absent and divide within 2.5 ulp,
which no text can prevent. Where a result must not depend on that, bits are compared. WGSL has no
fence separate from a barrier.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign
from typing import ClassVar

from gridlane.codegen.clike.emission import Emission, Pair, Place
from gridlane.codegen.clike.literals import decimal, pattern
from gridlane.codegen.clike.sharing import is_atomic
from gridlane.codegen.clike.word_memory import (
    ARRAYS,
    Words,
    constant_words,
    further_heaps,
    shared_bytes,
)
from gridlane.core.dtypes import DType, b1, f32, i32, u32
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid, math
from gridlane.ir.ops.grid import MemoryOrder
from gridlane.ir.types import Space

_LEAST = f"i32({i32.min})"
"""The literal of a negative number is a sign and a number, which i32 has not for this one."""


class Wgsl(Words):
    """WGSL with no extensions."""

    target = "webgpu"
    device = "WebGPU's shaders"
    types: ClassVar[dict[DType, str]] = {b1: "bool", i32: "i32", u32: "u32", f32: "f32"}
    functions: ClassVar[dict[type[Op], str]] = {
        arith.Popcount: "countOneBits({})",
        arith.Clz: "countLeadingZeros({})",
        arith.Brev: "reverseBits({})",
        arith.Fma: "fma",
        math.Sqrt: "sqrt",
        math.Floor: "floor",
        math.Ceil: "ceil",
        math.Trunc: "trunc",
        math.Rint: "round",
    }
    merges = True
    names_constants = True
    halves_unsigned = True
    loop = "loop {"
    once = ("loop {", "break; }")
    thread = "thread_index"
    group = "block_index"

    def let(self, type_: str, name: str, text: str, exact: bool = False) -> str:
        return f"let {name} = {text};"

    def var(self, type_: str, name: str, text: str) -> str:
        return f"var {name} = {text};"

    def choose(self, condition: str, on_true: str, on_false: str) -> str:
        return f"select({on_false}, {on_true}, {condition})"

    def bits(self, source: DType, target: DType, text: str) -> str:
        return text if source is target else f"bitcast<{self.types[target]}>({text})"

    def literal(self, state: Emission, value: bool | int | float, dtype: DType) -> str:
        if dtype is b1:
            return "true" if value else "false"
        if dtype is f32:
            return self._float(state, value)
        if dtype is i32:
            return f"{value}i" if value >= 0 else f"({value}i)" if value > i32.min else _LEAST
        return f"{value}u"

    def _float(self, state: Emission, value: float) -> str:
        """A float literal. A constant expression may not be NaN or infinite, and Tint folds -0.0f
        to 0.0: such a constant is read from a variable that is never written."""
        text = decimal(value)
        if text and (value or copysign(1.0, value) > 0.0):
            return f"{text}f"
        raw = f"{pattern(value, f32):#x}u"
        name = f"bits_{raw}"
        state.declarations[name] = f"var<private> {name}: u32 = {raw};"
        return f"bitcast<f32>({name})"

    def struct(self, name: str, fields: Sequence[Pair]) -> list[str]:
        return [f"struct {name} {{", *(f"    {n}: {t}," for t, n in fields), "}"]

    def function(self, name: str, result: str, params: Sequence[Pair]) -> str:
        taken = ", ".join(f"{param}: {type_}" for type_, param in params)
        return f"fn {name}({taken}) -> {result} {{"

    # ---- memory: an array that the kernel uses atomically has atomic loads and stores throughout

    def word_at(self, state: Emission, place: Place) -> str:
        element = self._element(state, place)
        shared = is_atomic(state, place.space, place.buffer)
        return f"atomicLoad(&{element})" if shared else element

    def put_word(self, state: Emission, place: Place, value: str) -> None:
        element = self._element(state, place)
        text = f"{element} = {value};"
        if is_atomic(state, place.space, place.buffer):
            text = f"atomicStore(&{element}, {value});"
        state.line(text)

    def call_atomic(self, name: str, element: str, *operands: str) -> str:
        return f"{name}({', '.join((f'&{element}', *operands))})"

    def exchange_if(self, state: Emission, place: Place, expected: str, desired: str) -> Pair:
        name = state.fresh("exchange")
        call = self.call_atomic(
            "atomicCompareExchangeWeak", self._element(state, place), expected, desired
        )
        state.line(f"let {name} = {call};")
        return f"{name}.old_value", f"{name}.exchanged"

    def agreed(self, state: Emission, place: Place, first: str) -> str:
        """Load by the one function whose result WGSL knows to be uniform, as barriers must be in
        uniform control flow. It takes no atomics, so one thread copies the word."""
        state.declarations["agreed"] = "var<workgroup> agreed: u32;"
        with state.block_of(f"if ({first}) {{"):
            state.line(f"agreed = {self.atomic_load(state, place)};")
        return state.let(u32, "workgroupUniformLoad(&agreed)")

    def barrier(self, state: Emission) -> None:
        state.line("storageBarrier();")
        state.line("workgroupBarrier();")

    def fence(self, state: Emission, op: Op) -> None:
        assert isinstance(op, grid.Fence)
        if op.order is not MemoryOrder.RELAXED:
            why = (
                "WGSL orders memory by barriers of the block alone; write cuda.syncthreads() where "
            )
            why += "all threads of the block come, else end the kernel there and launch the rest"
            raise state.refuse(op, why)

    def assemble(self, state: Emission, entry: str) -> str:
        shape = ", ".join(map(str, state.block or (1, 1, 1)))
        types = {s: "atomic<u32>" if is_atomic(state, s) else "u32" for s in ARRAYS}
        head = [
            f"@group(0) @binding(0) var<storage, read_write> heap: array<{types[Space.GLOBAL]}>;",
            "@group(0) @binding(1) var<storage, read> params: array<u32>;",
            "@group(0) @binding(2) var<storage, read> launch: array<u32>;",
        ]
        for n, (binding, name) in enumerate(further_heaps(state), 1):
            word = "atomic<u32>" if is_atomic(state, Space.GLOBAL, n) else "u32"
            where = f"@group(0) @binding({binding}) var<storage, read_write>"
            head.append(f"{where} {name}: array<{word}>;")
        words, is_dynamic = shared_bytes(state) // 4, "dynamic" in state.uses
        count = f"{words or 1} + dynamic_words" if is_dynamic else f"{words}"
        if is_dynamic:
            head.append("override dynamic_words: u32 = 0;")
        if words or is_dynamic:  # an array has at least one element
            head.append(f"var<workgroup> shared_words: array<{types[Space.SHARED]}, {count}>;")
        if state.local:
            head.append(f"var<private> local_words: array<u32, {state.local // 4}>;")
        data = constant_words(state)
        if data:
            array = f"array<u32, {len(data)}>"
            head.append(f"var<private> constant_words: {array} = {array}({', '.join(data)});")
        signature = [
            f"@compute @workgroup_size({shape})",
            f"fn {entry}(@builtin(local_invocation_id) thread_index: vec3<u32>,",
            "    @builtin(workgroup_id) block_index: vec3<u32>) {",
        ]
        body = [
            *state.declarations.values(),
            *signature,
            *self.opening(state),
            *state.lines,
            "}",
            "",
        ]
        return "\n".join((*head, *body))
