"""Assembles a SPIR-V module: ids, unique types and constants, sections in order."""

from __future__ import annotations

import struct
from collections.abc import Generator
from contextlib import contextmanager

from gridlane.codegen.spirv.opcodes import (
    ADDRESSING_PHYSICAL_STORAGE_BUFFER_64,
    MAGIC,
    MEMORY_MODEL_VULKAN,
    MODEL_GL_COMPUTE,
    VERSION,
    Capability,
    Decoration,
    Opcode,
    Storage,
)

Words = tuple[int, ...]


def text_words(text: str) -> Words:
    """A literal string: UTF-8, a zero byte, zeros up to a whole word.

    >>> text_words("abc")
    (6513249,)
    """
    octets = text.encode() + b"\0"
    octets += bytes(-len(octets) % 4)
    return struct.unpack(f"<{len(octets) // 4}I", octets)


class Assembler:
    """A module with one function, the kernel. An instruction is a tuple: opcode, then its words."""

    def __init__(self) -> None:
        self.bound = 1
        self.capabilities: set[Capability] = {Capability.Shader}
        self.extensions: set[str] = set()
        self.modes: list[Words] = []
        self.decorations: list[Words] = []
        self.globals: list[Words] = []
        """Types, constants and global variables."""
        self.variables: list[Words] = []
        """The function's variables, which come first in it."""
        self.entry: list[Words] = []
        """Instructions that run first, whatever control flow requested them."""
        self.body: list[Words] = []
        self.interface: list[int] = []
        self._known: dict[Words, int] = {}
        self.values: dict[int, Words] = {}
        """The bits of constants, by their ids."""
        self._spec_constants: dict[int, int] = {}
        self.glsl = self.fresh()

    def fresh(self) -> int:
        """An unused id."""
        self.bound += 1
        return self.bound - 1

    # ---- unique types and constants

    def shared(self, opcode: Opcode, before: Words, after: Words) -> int:
        """The result of a type or constant; the same result for the same words.

        Args:
            before, after: the words before and after the result's id.
        """
        key = (opcode, len(before), *before, *after)
        if key not in self._known:
            self._known[key] = self.fresh()
            self.globals.append((opcode, *before, self._known[key], *after))
        return self._known[key]

    def type(self, opcode: Opcode, *words: int) -> int:
        """The id of a type."""
        return self.shared(opcode, (), words)

    def pointer_type(self, storage: Storage, element: int) -> int:
        """A pointer into a storage class."""
        return self.type(Opcode.TypePointer, storage, element)

    def constant(self, type_: int, *words: int) -> int:
        """A constant of a type, by the words of its bits."""
        result = self.shared(Opcode.Constant, (type_,), words)
        self.values[result] = words
        return result

    def spec_constant(self, type_: int, number: int, default: int) -> int:
        """A constant that the pipeline sets, by its number."""
        if number not in self._spec_constants:
            constant_id = self._spec_constants[number] = self.fresh()
            self.globals.append((Opcode.SpecConstant, type_, constant_id, default))
            self.decorate(constant_id, Decoration.SpecId, number)
        return self._spec_constants[number]

    def spec_op(self, type_: int, opcode: Opcode, *ids: int) -> int:
        """A constant that the pipeline computes from others."""
        return self.shared(Opcode.SpecConstantOp, (type_,), (opcode, *ids))

    # ---- the rest of the module

    def decorate(self, target: int, decoration: Decoration, *words: int) -> None:
        """Decorate a result."""
        self.decorations.append((Opcode.Decorate, target, decoration, *words))

    def global_variable(self, storage: Storage, type_: int, *initial: int) -> int:
        """A variable outside the function, which the entry point lists."""
        pointer = self.pointer_type(storage, type_)
        result = self.fresh()
        self.globals.append((Opcode.Variable, pointer, result, storage, *initial))
        self.interface.append(result)
        return result

    def variable(self, type_: int) -> int:
        """A variable of the function."""
        pointer = self.pointer_type(Storage.Function, type_)
        result = self.fresh()
        self.variables.append((Opcode.Variable, pointer, result, Storage.Function))
        return result

    def result(self, opcode: Opcode, type_: int, *words: int) -> int:
        """Append an instruction to the function; its result's id."""
        identifier = self.fresh()
        self.body.append((opcode, type_, identifier, *words))
        return identifier

    def do(self, opcode: Opcode, *words: int) -> None:
        """Append an instruction without a result."""
        self.body.append((opcode, *words))

    @contextmanager
    def at_entry(self) -> Generator[None]:
        """Emit the block's instructions at the start of the function; they must not branch."""
        body, self.body = self.body, self.entry
        yield
        self.body = body

    # ---- the module

    def assembled(self, entry: str) -> bytes:
        """The words of the module, little endian."""
        void = self.type(Opcode.TypeVoid)
        signature = self.type(Opcode.TypeFunction, void)
        function, first = self.fresh(), self.fresh()
        model = (ADDRESSING_PHYSICAL_STORAGE_BUFFER_64, MEMORY_MODEL_VULKAN)
        modes = [(opcode, function, *words) for opcode, *words in self.modes]
        sections: list[Words] = [
            *((Opcode.Capability, item) for item in sorted(self.capabilities)),
            *((Opcode.Extension, *text_words(name)) for name in sorted(self.extensions)),
            (Opcode.ExtInstImport, self.glsl, *text_words("GLSL.std.450")),
            (Opcode.MemoryModel, *model),
            (Opcode.EntryPoint, MODEL_GL_COMPUTE, function, *text_words(entry), *self.interface),
            *modes,
            *self.decorations,
            *self.globals,
            (Opcode.Function, void, function, 0, signature),
            (Opcode.Label, first),
            *self.variables,
            *self.entry,
            *self.body,
            (Opcode.FunctionEnd,),
        ]
        words: list[int] = [MAGIC, VERSION, 0, self.bound, 0]
        for instruction in sections:
            words.append(len(instruction) << 16 | instruction[0])
            words += instruction[1:]
        return struct.pack(f"<{len(words)}I", *words)
