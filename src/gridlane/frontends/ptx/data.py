"""The memory of a module: its variables of global and constant memory, in one array of bytes.

Each device has one such array for a module, which all kernels of it share; see modules/memory.py.
PTX ISA 9.0, "Initializers".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NoReturn

import numpy as np

from gridlane.core.frozen import frozen
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.expressions import evaluate
from gridlane.frontends.ptx.module import PtxModule
from gridlane.frontends.ptx.operands import number
from gridlane.frontends.ptx.text import words_of
from gridlane.frontends.ptx.types import TYPES

_FLOATS = {32: "<f", 64: "<d"}
CODE_START = 4 << 56
"""The address of a function is this plus 16 times its number, from 1 on; see addresses.py."""

_NAME = r"[A-Za-z_$%][\w$]*"
_SYMBOL = re.compile(
    rf"(?:(?P<mask>0[xX][0-9a-fA-F]+)\s*\(\s*)?(?:generic\s*\(\s*)?(?P<name>{_NAME})[\s)]*"
    rf"(?:(?P<sign>[+-])\s*(?P<plus>\w+)\s*)?\)?"
)


@frozen
class Reference:
    """An address in an initial value.

    Attributes:
        at: its offset in the memory; ``size``: its bytes.
        name: of the variable or function; ``plus``: what is added.
        mask: the bits of the address that are stored, shifted to the lowest; 0 for all.
        place: of the variable in the code, for errors.
    """

    at: int
    size: int
    name: str
    plus: int
    mask: int
    place: int


class ModuleData:
    """Where each variable lies in a module's memory, and the initial bytes.

    Attributes:
        offsets: of the variables by name.
        size: bytes in all; ``constants``: those of constant memory, which are the first.
    """

    def __init__(self, module: PtxModule) -> None:
        self.module = module
        self.offsets: dict[str, int] = {}
        self.size = 0
        self.constants = 0
        for space in ("const", "global"):
            for each in module.variables.values():
                if each.space != space or each.linking == "extern":
                    continue
                step = max(16, each.align)
                offset = -(-self.size // step) * step
                self.offsets[each.name] = offset
                self.size = offset + each.size
            if space == "const":
                self.constants = self.size
        self._references: dict[Reference, None] = {}

    @property
    def references(self) -> int:
        """How many addresses the initial values hold that were read."""
        return len(self._references)

    def size_of(self, name: str) -> int:
        """The bytes of a variable."""
        return self.module.variables[name].size

    def initial(self, start: int) -> np.ndarray:
        """The bytes before any launch, of memory that begins at an address.

        Raises:
            PtxError: an initial value is malformed, or names what is not defined here.
        """
        array = np.zeros(self.size, np.uint8)  # whose pages come when they are written
        for name, offset in self.offsets.items():
            variable = self.module.variables[name]
            if variable.value:
                data = self.bytes_of(variable)
                array[offset : offset + len(data)] = np.frombuffer(data, np.uint8)
        for each in self._references:
            value = self._address(each, start)
            if each.mask:
                value = (value & each.mask) >> ((each.mask & -each.mask).bit_length() - 1)
            data = (value % (1 << 8 * each.size)).to_bytes(each.size, "little")
            array[each.at : each.at + each.size] = np.frombuffer(data, np.uint8)
        return array

    def _address(self, reference: Reference, start: int) -> int:
        if reference.name in self.offsets:
            return start + self.offsets[reference.name] + reference.plus
        code_start = code_address(self.module, reference.name)
        if code_start is None:
            hint = self.module.hints.get(reference.name, "")
            self.module.text.fail(
                f"an initial value names {reference.name}, which is not defined here{hint}",
                reference.place,
            )
        return code_start + reference.plus

    def bytes_of(self, variable: Declared) -> bytes:
        """The initial value of a variable, padded with zeros; notes the addresses in it.

        Raises:
            PtxError: it is malformed, or longer than the variable.
        """
        dtype, start = TYPES[variable.type], self.offsets.get(variable.name, 0)
        data = bytearray()
        for index, word in self._placed(variable):
            data.extend(bytes(index * dtype.size - len(data)))
            value = number(word) or evaluate(word)
            if value is None:
                self._refer(variable, word, start + len(data), dtype.size)
                data += bytes(dtype.size)
            elif value.is_float:
                bits = value.float_bits or (dtype.bits if dtype.is_float else 0)
                if bits != dtype.bits or bits not in _FLOATS:
                    self._fail(variable, f"{word[:40]} is no .{variable.type}")
                data += struct.pack(_FLOATS[bits], value.value)
            elif dtype.is_float:
                self._fail(variable, f"{word[:40]} is no .{variable.type}; write 0f or 0d and bits")
            else:
                data += (int(value.value) & (1 << dtype.bits) - 1).to_bytes(dtype.size, "little")
        if len(data) > variable.size:
            self._fail(variable, f"has {variable.size} bytes, and {len(data)} are given")
        return bytes(data.ljust(variable.size, b"\0"))

    def _placed(self, variable: Declared) -> Iterator[tuple[int, str]]:
        """The words of an initial value, each with the number of its element. A row that is given
        in part ends in zeros."""
        index, ends = 0, list[int]()
        for piece in re.split(r"([{}])", variable.value):
            if piece == "{":
                depth = len(ends) - 1
                row = variable.rows[depth] if 0 <= depth < len(variable.rows) else 0
                ends.append(index + row if row else ends[-1] if ends else 1 << 62)
            elif piece == "}" and ends:
                end = ends.pop()
                index = end if len(ends) and end < 1 << 62 else index
            for word in words_of(piece) if piece not in "{}" else ():
                if ends and index >= ends[-1]:
                    self._fail(variable, f"a row has more than its {len(ends)}. dimension")
                yield index, word
                index += 1

    def _refer(self, variable: Declared, word: str, position: int, size: int) -> None:
        match = _SYMBOL.fullmatch(word)
        plus = number(match["plus"]) if match and match["plus"] else None
        if match is None or (match["plus"] and (plus is None or plus.is_float)):
            self._fail(variable, f"the initial value {word[:40]} is not translated")
        mask = int(match["mask"], 16) if match["mask"] else 0
        if not mask and size != 8:
            self._fail(variable, f"{word[:40]} is an address, which has 8 bytes")
        added = int(plus.value) if plus else 0
        added = -added if match["sign"] == "-" else added
        self._references[Reference(position, size, match["name"], added, mask, variable.at)] = None

    def _fail(self, variable: Declared, what: str) -> NoReturn:
        self.module.text.fail(f"{variable.name}: {what}", variable.at, len(variable.name))


def code_address(module: PtxModule, name: str) -> int | None:
    """The address of a function: a number that calls take, the same on every device."""
    function = module.functions.get(name)
    return None if function is None else CODE_START + 16 * function.number


def entry_at(module: PtxModule, address: int) -> str | None:
    """The kernel at an address; None where there is none."""
    number, rest = divmod(address - CODE_START, 16)
    names = (each for each in module.entries if module.functions[each].number == number)
    return None if rest else next(names, None)
