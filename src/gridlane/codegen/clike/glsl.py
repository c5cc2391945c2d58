"""GLSL 4.30 and GLSL ES 3.10, whose compute shaders are OpenGL's.

``precise`` keeps GLSL 4.30 from contracting and reordering; ES 3.10 has no such qualifier, so
``rounding`` prevents it. By the specification, division and square roots may be off by 2.5 ulp,
and NaN need not be kept; the common drivers do better. A driver inserts the size of dynamic shared
memory, in words of 32 bits, after the first line: ``#define DYNAMIC_WORDS 1024``.
"""

from __future__ import annotations

from typing import ClassVar

from gridlane.codegen.clike.emission import Emission, Pair, Place
from gridlane.codegen.clike.literals import float_literal
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
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope
from gridlane.ir.types import Space

_BITS: dict[tuple[DType, DType], str] = {
    (f32, u32): "floatBitsToUint",
    (u32, f32): "uintBitsToFloat",
    (f32, i32): "floatBitsToInt",
    (i32, f32): "intBitsToFloat",
}

# GLSL 4.50 and ES 3.10 have mix for integers and bools; GLSL 4.30 has it by this extension.
_MIX = """\
#ifdef GL_EXT_shader_integer_mix
#extension GL_EXT_shader_integer_mix : enable
#else
#define mix(on_false, on_true, condition) ((condition) ? (on_true) : (on_false))
#endif"""


_WITHIN = "WITHIN("
_OWN = tuple(f"{ARRAYS[space]}[" for space in (Space.SHARED, Space.LOCAL, Space.CONSTANT))


class Glsl(Words):
    """GLSL 4.30."""

    target = "opengl"
    device = "OpenGL's compute shaders"
    types: ClassVar[dict[DType, str]] = {b1: "bool", i32: "int", u32: "uint", f32: "float"}
    functions: ClassVar[dict[type[Op], str]] = {
        arith.Popcount: "bitCount({})",
        arith.Clz: "(31 - findMSB({}))",
        arith.Brev: "bitfieldReverse({})",
        arith.Fma: "fma",
        math.Sqrt: "sqrt",
        math.Floor: "floor",
        math.Ceil: "ceil",
        math.Trunc: "trunc",
        math.Rint: "roundEven",
    }
    thread = "gl_LocalInvocationID"
    group = "gl_WorkGroupID"
    version: ClassVar[str] = f"#version 430 core\n{_MIX}"
    precise = "precise "

    def let(self, type_: str, name: str, text: str, exact: bool = False) -> str:
        # glslang looks for what each precise variable is made of, in time and memory that grow
        # exponentially with the selects in between.
        precise = self.precise if type_ in ("float", "bool") and not exact else ""
        return f"{precise}{type_} {name} = {text};"

    def var(self, type_: str, name: str, text: str) -> str:
        return self.let(type_, name, text)

    def choose(self, condition: str, on_true: str, on_false: str) -> str:
        """Avoid ``?:``, which Mesa makes a branch of: thousands of them take it gigabytes."""
        return f"mix({on_false}, {on_true}, {condition})"

    def bits(self, source: DType, target: DType, text: str) -> str:
        if source is target:
            return text
        return f"{_BITS.get((source, target), self.types[target])}({text})"

    def literal(self, state: Emission, value: bool | int | float, dtype: DType) -> str:
        if dtype is b1:
            return "true" if value else "false"
        if dtype is f32:
            return float_literal(value, "uintBitsToFloat", "")
        if dtype is i32 and value == dtype.min:
            return "int(0x80000000u)"
        return f"({value})" if value < 0 else f"{value}{'u' if dtype is u32 else ''}"

    def barrier(self, state: Emission) -> None:
        state.line("memoryBarrierBuffer();")
        state.line("memoryBarrierShared();")
        state.line("barrier();")

    def fence(self, state: Emission, op: Op) -> None:
        assert isinstance(op, grid.Fence)
        if op.scope is MemoryScope.SYSTEM:
            why = "the host sees what a kernel wrote when the kernel is done, so end it there"
            raise state.refuse(op, why)
        if op.order is not MemoryOrder.RELAXED:
            state.line("memoryBarrier();")

    def call_atomic(self, name: str, element: str, *operands: str) -> str:
        return f"{name}({', '.join((element, *operands))})"

    def _element(self, state: Emission, place: Place) -> str:
        """A word. OpenGL keeps accesses to buffers in them, and leaves those to other memory
        undefined: a wild index of that is one of its last word."""
        element = super()._element(state, place)
        if not element.startswith(_OWN):
            return element
        return f"{_WITHIN}{element.replace('[', ', ', 1).removesuffix(']')})"

    def exchange_if(self, state: Emission, place: Place, expected: str, desired: str) -> Pair:
        call = self.call_atomic("atomicCompSwap", self._element(state, place), expected, desired)
        seen = state.let(u32, call)
        return seen, state.let(b1, f"{seen} == {expected}")

    def assemble(self, state: Emission, entry: str) -> str:
        x, y, z = state.block or (1, 1, 1)
        head = [
            self.version,
            "#ifndef DYNAMIC_WORDS",
            "#define DYNAMIC_WORDS 0",
            "#endif",
            f"layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;",
            "layout(std430, binding = 0) coherent buffer Heap { uint heap[]; };",
            "layout(std430, binding = 1) readonly buffer Params { uint params[]; };",
            "layout(std430, binding = 2) readonly buffer Launch { uint launch[]; };",
        ]
        for binding, name in further_heaps(state):
            where = f"layout(std430, binding = {binding}) coherent buffer"
            head.append(f"{where} {name.capitalize()} {{ uint {name}[]; }};")
        if any(_WITHIN in line for line in (*state.declarations.values(), *state.lines)):
            head.append(f"#define {_WITHIN}array, at) array[min(at, uint(array.length()) - 1u)]")
        word_count, is_dynamic = shared_bytes(state) // 4, "dynamic" in state.uses
        if word_count or is_dynamic:  # an array has at least one element
            count = f"{word_count or 1} + DYNAMIC_WORDS" if is_dynamic else f"{word_count}"
            head.append(f"shared uint shared_words[{count}];")
        if state.local:
            head.append(f"uint local_words[{state.local // 4}];")
        data = constant_words(state)
        if data:
            head.append(f"const uint constant_words[{len(data)}] = uint[]({', '.join(data)});")
        body = [*state.declarations.values(), "void main() {"]
        body += [*self.opening(state), *state.lines, "}", ""]
        return "\n".join((*head, *body))


class GlslEs(Glsl):
    """GLSL ES 3.10."""

    device = "OpenGL ES 3.1's compute shaders"
    functions: ClassVar[dict[type[Op], str]] = {
        op: name for op, name in Glsl.functions.items() if op is not arith.Fma
    }
    version = "#version 310 es\nprecision highp float;\nprecision highp int;"
    precise = ""
    merges = True
