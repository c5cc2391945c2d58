"""The names of a function's body: registers and variables, in scopes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.instructions import Body
from gridlane.frontends.ptx.module import PtxFunction, PtxModule
from gridlane.frontends.ptx.operands import Reg, Register, Vector
from gridlane.frontends.ptx.types import TYPES

NAME = re.compile(r"[A-Za-z_$%][\w$]*")
RANGE = re.compile(r"([A-Za-z_$%][\w$]*)<(\d{1,10}|0[xX][\da-fA-F]{1,8})>")
"""Registers that are declared together: ``%r<4>``."""
_KIND = re.compile(r"\.?(?:v([24])\b\.?)?(\w*)")
_MOST_REGISTERS = 1 << 24


@dataclass(slots=True)
class _Names:
    """What a scope declares."""

    registers: dict[str, Register | Vector]
    ranges: dict[str, tuple[str, int, int]]
    variables: dict[str, Declared]


class Scopes:
    """The scopes around a statement, the innermost last.

    Attributes:
        all: their numbers in the body, and what they declare.
    """

    def __init__(self, module: PtxModule, function: PtxFunction, body: Body) -> None:
        self.module, self.function, self.body, self.text = module, function, body, module.text
        self.all = [(0, _Names({}, {}, {}))]
        names = self.all[0][1]
        for each in (*function.params, *function.results):
            if each.space == "reg":
                register = self.register(each.name, each.type)
                names.registers[each.name] = body.named[each] = register
            else:
                names.variables[each.name] = each

    def brace(self, brace: str, position: int) -> None:
        """Open or close a scope."""
        if brace == "{":
            self.body.parents.append(self.all[-1][0])
            self.all.append((len(self.body.parents) - 1, _Names({}, {}, {})))
        else:
            self.all.pop()
            if not self.all:
                self.text.fail("this brace closes nothing", position)

    def declare(self, name: str, variable: Declared) -> None:
        """Declare a variable in the innermost scope."""
        names = self.all[-1][1]
        if name in names.variables:
            self.text.fail(f"{name} is declared twice", variable.at, len(name))
        names.variables[name] = variable

    def declare_registers(self, text: str, position: int) -> None:
        """Declare registers by the text of a ``.reg``."""
        tokens = text.replace(",", " ").split()
        match = _KIND.fullmatch(tokens[0]) if tokens else None
        if match and match[1] and not match[2] and len(tokens) > 1:  # .v2 .u32
            match = _KIND.fullmatch(tokens.pop(0) + tokens[0])
        kind, width = (match[2] or "", int(match[1] or 1)) if match else ("", 1)
        if kind == "b128" and width == 1:  # two words, the lower one first
            kind, width = "b64", 2
        if kind not in TYPES or (width > 1 and kind == "pred"):
            self.text.fail(f"no registers of type .{kind} are translated", position, 4)
        names = self.all[-1][1]
        for name in tokens[1:]:
            if match := RANGE.fullmatch(name):
                count = int(match[2], 16 if match[2][1:2] in ("x", "X") else 10)
                if count > _MOST_REGISTERS:
                    self.text.fail(f"{name}: more than 2^24 registers", position)
                if match[1] in names.ranges:
                    self.text.fail(f"{name} is declared twice", position)
                names.ranges[match[1]] = kind, count, width
            elif NAME.fullmatch(name):
                if name in names.registers:
                    self.text.fail(f"{name} is declared twice", position)
                names.registers[name] = self._several(name, kind, width)
            else:
                self.text.fail(f"no name of a register: {name[:40]}", position)

    def register(self, name: str, kind: str) -> Register:
        """A new register."""
        register = Register(name, TYPES[kind], len(self.body.registers))
        self.body.registers.append(register)
        return register

    def _several(self, name: str, kind: str, width: int) -> Register | Vector:
        """A register, or the parts of one that is a vector."""
        if width == 1:
            return self.register(name, kind)
        return Vector(tuple(Reg(self.register(f"{name}.{c}", kind)) for c in "xyzw"[:width]))

    def part(self, name: str) -> Reg | None:
        """A part of a register that is a vector, as ``%v.x``."""
        stem, _, letter = name.rpartition(".")
        part_index = (
            "xyzwrgba".find(letter) % 4 if len(letter) == 1 and letter in "xyzwrgba" else -1
        )
        vector = self.find(stem) if part_index >= 0 else None
        if not isinstance(vector, Vector) or part_index >= len(vector.parts):
            return None
        part = vector.parts[part_index]
        assert isinstance(part, Reg)
        return part

    def find(self, name: str) -> Register | Vector | Declared | None:
        """The register or variable of a name, in the innermost scope that has it."""
        for _, names in reversed(self.all):
            variable = names.registers.get(name) or names.variables.get(name)
            if variable is not None:
                return variable
            stem = name.rstrip("0123456789")
            known = names.ranges.get(stem)
            digits = name[len(stem) :]
            is_number = known and digits and len(digits) < 11 and str(int(digits)) == digits
            if known and is_number and int(digits) < known[1]:
                result = names.registers[name] = self._several(name, known[0], known[2])
                return result
        variable = self.module.variables.get(name)
        return variable if variable and self.module.sees(self.function.name, name) else None
