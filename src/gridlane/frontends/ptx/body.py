"""The body of a function: its declarations, and its instructions in blocks.

PTX ISA 9.0, chapter "Instruction Operands" and "Abstracting the ABI".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gridlane.core.dtypes import b1
from gridlane.frontends.ptx.declarations import Declared, declared
from gridlane.frontends.ptx.elements import INDEXED, Element, steps_to
from gridlane.frontends.ptx.expressions import constant, evaluate
from gridlane.frontends.ptx.instructions import Block, Body, Instruction
from gridlane.frontends.ptx.module import PtxFunction, PtxModule, name_within
from gridlane.frontends.ptx.operands import (
    Address,
    Operand,
    Pair,
    Part,
    Reg,
    Register,
    Sink,
    Special,
    Symbol,
    Texel,
    Tuple,
    Vector,
    number,
    split_operands,
)
from gridlane.frontends.ptx.specials import RESERVED_PARTS
from gridlane.frontends.ptx.text import LOC
from gridlane.frontends.ptx.types import TYPES

STATEMENT = re.compile(
    rf"""\s*(?:
    (?P<loc>{LOC})
    |(?P<label>[A-Za-z_$%][\w$]*)\s*:(?!:)
    |(?P<brace>[{{}}])
    |(?:@(?P<guard>!?\s*[%\w$]+)\s*)?(?P<op>\.?[A-Za-z_][\w.:]*)(?P<rest>(?:[^;"]|"[^"\n]*")*);
    )""",
    re.VERBOSE,
)
"""A statement of a body: ``.loc``, a label, a brace, or a directive or instruction."""
RANGE = re.compile(r"([A-Za-z_$%][\w$]*)<(\d{1,10}|0[xX][\da-fA-F]{1,8})>")
"""Registers that are declared together: ``%r<4>``."""
_ADDRESS = re.compile(r"\[\s*([^\s\[\]+]+)?\s*(?:\+?\s*([^\[\]{},]+?))?\s*\]")
_NAME = re.compile(r"[A-Za-z_$%][\w$]*")
_PLUS = re.compile(r"([A-Za-z_$%][\w$]*)\s*([+-])\s*(.+)")
_ELEMENT = re.compile(r"([A-Za-z_$%][\w$]*)\s*\[(.+)\]")
_INDEX = re.compile(r"([A-Za-z_$%][\w$]*)\s*(?:\+\s*(.+))?")
_TABLE = re.compile(r"\s*\.(?:callprototype|branchtargets|calltargets)\b")
_PART = re.compile(
    r"(?P<sign>-?)\s*(?P<name>[A-Za-z_$%][\w$]*)(?:\.(?P<chosen>h[0-3]{1,2}|b[0-7]{1,4}))?"
)
_KIND = re.compile(r"\.?(?:v([24])\b\.?)?(\w*)")
_LOC = re.compile(
    r"\.loc\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})"
    r"(?:[^\0]*\binlined_at\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9}))?"
)
_MEMORY = frozenset(("ld", "ldu", "st", "atom", "red"))
_MOST_REGISTERS = 1 << 24


@dataclass(slots=True)
class _Names:
    """What a scope declares."""

    registers: dict[str, Register | Vector]
    ranges: dict[str, tuple[str, int, int]]
    variables: dict[str, Declared]


def parse_body(module: PtxModule, function: PtxFunction) -> Body:
    """The declarations and instructions of a function.

    Raises:
        PtxError: malformed; located.
    """
    return _Reader(module, function).read()


_TARGETS = re.compile(r"\bbra\b[.\w]*\s+([^\s;]+)|\.branchtargets\b([^;]*)")
"""The labels that branches go to."""


class _Reader:
    def __init__(self, module: PtxModule, function: PtxFunction) -> None:
        self.module, self.function, self.text = module, function, module.text
        self.code = module.text.code
        self.body = Body([Block(0, function.start)], [], [], {}, [-1], {}, {}, {})
        self.scopes = [(0, _Names({}, {}, {}))]
        self.line: tuple[int, ...] | None = None
        self.last_label = ""
        targets = _TARGETS.findall(self.code, function.start, function.end)
        self.targets = {name.strip() for one, many in targets for name in (one or many).split(",")}
        self.in_call = False
        self.decoded: dict[str, Operand] = {}
        self.opcodes: dict[str, tuple[str, tuple[str, ...]]] = {}
        names = self.scopes[0][1]
        for each in (*function.params, *function.results):
            if each.space == "reg":
                register = self._register(each.name, each.type)
                names.registers[each.name] = self.body.named[each] = register
            else:
                names.variables[each.name] = each

    def read(self) -> Body:
        """Read all statements."""
        position, end, code = self.function.start, self.function.end, self.code
        match = STATEMENT.match
        while True:
            statement = match(code, position, end)
            if statement is None:
                if code[position:end].strip():
                    position += len(code[position:end]) - len(code[position:end].lstrip())
                    self.text.fail("no statement of PTX", position)
                return self.body
            position = statement.end()
            kind = statement.lastgroup
            if kind == "loc":
                self._loc(statement["loc"])
            elif kind == "label":
                self._label(statement)
            elif kind == "brace":
                self._brace(statement["brace"], statement.start("brace"))
            elif statement["op"][0] == ".":
                self._directive(statement)
            else:
                self._instruction(statement)

    def _loc(self, text: str) -> None:
        if match := _LOC.match(text):
            self.line = tuple(int(each) for each in match.groups() if each)

    def _label(self, statement: re.Match[str]) -> None:
        name, position = statement["label"], statement.start("label")
        key = self.scopes[-1][0], name
        self.last_label = name
        if _TABLE.match(self.code, statement.end()):
            return  # the name of a list, and no place to go to
        if key in self.body.labels:
            self.text.fail(f"the label {name} stands twice", position, len(name))
        if name in self.targets:  # others are for debuggers, also within the code of a call
            self._new_block(position)
        self.body.labels[key] = self.body.blocks[-1].number

    def _new_block(self, position: int) -> None:
        if self.body.blocks[-1].instructions or len(self.body.blocks) == 1:
            self.body.blocks.append(Block(len(self.body.blocks), position))

    def _brace(self, brace: str, position: int) -> None:
        if brace == "{":
            self.body.parents.append(self.scopes[-1][0])
            self.scopes.append((len(self.body.parents) - 1, _Names({}, {}, {})))
        else:
            self.scopes.pop()
            if not self.scopes:
                self.text.fail("this brace closes nothing", position)
        self.decoded = {}

    # --- declarations

    def _directive(self, statement: re.Match[str]) -> None:
        word, rest, position = statement["op"], statement["rest"], statement.start("op")
        if word.startswith(".reg"):
            self._registers(word[4:] + rest, position)
        elif word.partition(".")[2].partition(".")[0] in ("shared", "local", "param"):
            space, _, more = word[1:].partition(".")
            head, _, value = rest.partition("=")
            if value:
                self.text.fail(f"a .{space} variable has no initial value", statement.start("rest"))
            variable = declared(self.text, (f".{more}" if more else "") + head, space, position)
            self._name(variable.name, variable)
            self.body.variables.append(variable)
        elif re.match(r"\.(global|const)\b", word):
            space = word[1:].partition(".")[0]
            start = position + 1 + len(space)
            head = self.code[start : statement.end("rest")].partition("=")[0]
            variable = declared(self.text, head, space, start)
            self._name(variable.name, self.module.variables[name_within(variable)])
        elif word == ".branchtargets" or word == ".calltargets":
            names_ = tuple(part for part, _ in split_operands(rest))
            self.body.tables[self.last_label] = names_
        elif word not in (".pragma", ".callprototype", ".file"):
            self.text.fail(f"no directive of a body: {word}", position, len(word))

    def _name(self, name: str, variable: Declared) -> None:
        """Declare a variable in the innermost scope."""
        names = self.scopes[-1][1]
        if name in names.variables:
            self.text.fail(f"{name} is declared twice", variable.at, len(name))
        names.variables[name] = variable

    def _registers(self, text: str, position: int) -> None:
        tokens = text.replace(",", " ").split()
        match = _KIND.fullmatch(tokens[0]) if tokens else None
        if match and match[1] and not match[2] and len(tokens) > 1:  # .v2 .u32
            match = _KIND.fullmatch(tokens.pop(0) + tokens[0])
        kind, width = (match[2] or "", int(match[1] or 1)) if match else ("", 1)
        if kind == "b128" and width == 1:  # two words, the lower one first
            kind, width = "b64", 2
        if kind not in TYPES or (width > 1 and kind == "pred"):
            self.text.fail(f"no registers of type .{kind} are translated", position, 4)
        names = self.scopes[-1][1]
        for name in tokens[1:]:
            if match := RANGE.fullmatch(name):
                count = int(match[2], 16 if match[2][1:2] in ("x", "X") else 10)
                if count > _MOST_REGISTERS:
                    self.text.fail(f"{name}: more than 2^24 registers", position)
                if match[1] in names.ranges:
                    self.text.fail(f"{name} is declared twice", position)
                names.ranges[match[1]] = kind, count, width
            elif _NAME.fullmatch(name):
                if name in names.registers:
                    self.text.fail(f"{name} is declared twice", position)
                names.registers[name] = self._several(name, kind, width)
            else:
                self.text.fail(f"no name of a register: {name[:40]}", position)

    def _register(self, name: str, kind: str) -> Register:
        register = Register(name, TYPES[kind], len(self.body.registers))
        self.body.registers.append(register)
        return register

    def _several(self, name: str, kind: str, width: int) -> Register | Vector:
        """A register, or the parts of one that is a vector."""
        if width == 1:
            return self._register(name, kind)
        return Vector(tuple(Reg(self._register(f"{name}.{c}", kind)) for c in "xyzw"[:width]))

    def _part(self, name: str) -> Reg | None:
        """A part of a register that is a vector, as ``%v.x``."""
        stem, _, letter = name.rpartition(".")
        part_index = (
            "xyzwrgba".find(letter) % 4 if len(letter) == 1 and letter in "xyzwrgba" else -1
        )
        vector = self._find(stem) if part_index >= 0 else None
        if not isinstance(vector, Vector) or part_index >= len(vector.parts):
            return None
        part = vector.parts[part_index]
        assert isinstance(part, Reg)
        return part

    def _find(self, name: str) -> Register | Vector | Declared | None:
        """The register or variable of a name, in the innermost scope that has it."""
        for _, names in reversed(self.scopes):
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

    # --- instructions

    def _instruction(self, statement: re.Match[str]) -> None:
        spelling, position = statement["op"], statement.start("op")
        opcode = self.opcodes.get(spelling)
        if opcode is None:
            root, *modifiers = re.split(r"(?<!:)\.(?!:)", spelling)
            opcode = self.opcodes[spelling] = root, tuple(modifiers)
        root, modifiers = opcode
        rest, start = statement["rest"], statement.start("rest")
        operands: list[Operand] = []
        if rest.strip():
            self.in_call = root == "call"
            for part, where in split_operands(rest):
                operand = self.decoded.get(part)
                if operand is None and root in INDEXED and (element := self._indexed(part)):
                    register = self._computed(element, statement)
                    operands.append(Address(register, 0) if root != "mov" else Reg(register))
                    continue
                if operand is None:
                    operand = self.decoded[part] = self._operand(part, start + where)
                if root in _MEMORY and isinstance(operand, Symbol) and part[-1] == "]":
                    operand = Address(operand, 0)  # an element stands without brackets around it
                operands.append(operand)
        guard = self._guard(statement["guard"], position) if statement["guard"] else None
        instruction = Instruction(root, modifiers, tuple(operands), guard, position, self.line)
        if len(self.scopes) > 1:
            self.body.scopes[position] = self.scopes[-1][0]
        self.body.blocks[-1].instructions.append(instruction)
        if root in ("bra", "brx", "ret", "exit", "trap"):
            self.body.blocks.append(Block(len(self.body.blocks), statement.end()))

    def _guard(self, text: str, position: int) -> Reg:
        name = text.lstrip("!").strip()
        register = self._find(name)
        if not isinstance(register, Register) or register.type is not b1:
            self.text.fail(f"@{text}: no predicate is called {name}", position)
        return Reg(register, text[0] == "!")

    def _operand(self, part: str, position: int) -> Operand:
        if not part:
            self.text.fail("an operand is missing", position)
        first = part[0]
        if first == "[":
            return self._texel(part, position) if "," in part else self._address(part, position)
        is_expression = first in "-+~!.0123456789" or part.startswith("WARP_SZ")
        if (is_expression or (first == "(" and not self.in_call)) and (operand := constant(part)):
            return operand
        if first == "{" and part[-1] != "}" and "|" in part:
            left, _, right = part.rpartition("|")
            return Pair(
                self._operand(left.strip(), position), self._operand(right.strip(), position)
            )
        if first in "{(":
            if part[-1] != {"{": "}", "(": ")"}[first]:
                self.text.fail(f"{part[:40]} is not closed", position)
            inner = split_operands(part[1:-1]) if part[1:-1].strip() else []
            parts = tuple(self._operand(each, position + 1 + where) for each, where in inner)
            return Vector(parts) if first == "{" else Tuple(parts)
        if "|" in part:
            left, _, right = part.partition("|")
            return Pair(
                self._operand(left.strip(), position), self._operand(right.strip(), position)
            )
        if part == "_":
            return Sink()
        if first == "!" and part[1:].strip()[:1] not in tuple("(0123456789"):
            inner = self._operand(part[1:].strip(), position)
            if isinstance(inner, Reg) and inner.register.type is b1 and not inner.negated:
                return Reg(inner.register, True)
            self.text.fail(f"{part}: only a predicate is negated so", position, len(part))
        chosen = self._chosen(part) if first == "-" or "." in part else None
        return chosen if chosen is not None else self._named(part, position)

    def _chosen(self, part: str) -> Part | None:
        """Some bytes or halves of a register, or its negation."""
        match = _PART.fullmatch(part)
        if match is None or not (match["sign"] or match["chosen"]):
            return None
        register = self._find(match["name"])
        if not isinstance(register, Register):
            return None
        return Part(register, match["chosen"] or "", bool(match["sign"]))

    def _named(self, part: str, position: int) -> Operand:
        operand = self._find(part)
        if isinstance(operand, Register):
            return Reg(operand)
        if isinstance(operand, Vector):
            return operand
        if operand is not None:
            return Symbol(part, operand)
        if (own := self._part(part)) is not None:
            return own
        if match := _ELEMENT.fullmatch(part):
            return self._element(match[1], match[2], position)
        if part in RESERVED_PARTS:
            return Symbol(part, RESERVED_PARTS[part])
        if part[0] == "%":
            return Special(part)
        if match := _PLUS.fullmatch(part):
            variable, value = self._find(match[1]), evaluate(match[3])
            if isinstance(variable, Declared) and value is not None and not value.is_float:
                sign = -1 if match[2] == "-" else 1
                return Symbol(match[1], variable, sign * int(value.value))
        if _NAME.fullmatch(part):
            return Symbol(part, None)  # a function or a label
        self.text.fail(f"no operand: {part[:60]}", position, min(60, len(part)))

    def _element(self, name: str, index: str, position: int) -> Symbol:
        """An element of an array."""
        variable, value = self._find(name), evaluate(index)
        if not isinstance(variable, Declared) or value is None or value.value < 0:
            self.text.fail(
                f"no element of an array: {name[:40]}[{index[:20]}]", position, len(name)
            )
        return Symbol(name, variable, TYPES[variable.type].size * int(value.value))

    def _indexed(self, part: str) -> Element | None:
        """An element of an array at a register and perhaps a constant."""
        match = _ELEMENT.fullmatch(part)
        index = _INDEX.fullmatch(match[2].strip()) if match else None
        if not match or not index:
            return None
        variable, register = self._find(match[1]), self._find(index[1])
        plus = evaluate(index[2] or "0")
        if not isinstance(variable, Declared) or not variable.is_array or plus is None:
            return None
        if not isinstance(register, Register) or register.type is b1 or plus.is_float:
            return None
        return Element(match[1], variable, register, int(plus.value))

    def _computed(self, element: Element, statement: re.Match[str]) -> Register:
        """The register with the address of an element, which instructions in front compute. They
        need no guard."""
        position, bits = statement.start("op"), 64
        if statement["op"] in ("mov.u32", "mov.b32", "mov.s32"):
            bits = 32
        register, steps = steps_to(element, bits, lambda kind: self._register("%element", kind))
        # Each has a place of its own, by which instructions are known.
        for place, (root, modifiers, operands) in enumerate(steps, position + 1):
            instruction = Instruction(root, modifiers, operands, None, place, self.line)
            self.body.blocks[-1].instructions.append(instruction)
        return register

    def _texel(self, part: str, position: int) -> Texel:
        """A place in a texture or surface."""
        inner = split_operands(part[1:-1]) if part[-1] == "]" else []
        if len(inner) == 3:
            self.text.fail(
                "a sampler apart from its texture is not translated", position, len(part)
            )
        if len(inner) != 2:
            self.text.fail(
                f"no address is translated that is written {part[:60]}", position, len(part)
            )
        base, place = (self._operand(each, position + 1 + where) for each, where in inner)
        return Texel((base, *(place.parts if isinstance(place, Vector) else (place,))))

    def _address(self, part: str, position: int) -> Operand:
        match = _ADDRESS.fullmatch(part)
        if match is None:
            self.text.fail(
                f"no address is translated that is written {part[:60]}", position, len(part)
            )
        base, plus = match[1] or "0", match[2] or "0"
        offset = number(plus) or evaluate(plus)
        if offset is None or offset.is_float:
            self.text.fail(f"{part}: the offset is an integer", position, len(part))
        known = number(base)
        if known is not None and not known.is_float:
            return Address(None, int(known.value) + int(offset.value))
        target = self._named(base, position + 1)
        if isinstance(target, Reg):
            return Address(target.register, int(offset.value))
        if isinstance(target, Symbol) and target.variable is not None:
            return Address(target, int(offset.value))
        self.text.fail(f"{base[:40]} is not declared", position + 1, len(base))
