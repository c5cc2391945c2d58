"""The body of a function: its declarations, and its instructions in blocks.

PTX ISA 9.0, chapter "Instruction Operands" and "Abstracting the ABI".
"""

from __future__ import annotations

import re

from gridlane.core.dtypes import b1
from gridlane.frontends.ptx.declarations import Declared, declared
from gridlane.frontends.ptx.elements import INDEXED, Element, steps_to
from gridlane.frontends.ptx.expressions import evaluate
from gridlane.frontends.ptx.instructions import Block, Body, Instruction
from gridlane.frontends.ptx.module import PtxFunction, PtxModule, name_within
from gridlane.frontends.ptx.operand_texts import ELEMENT, OperandReader
from gridlane.frontends.ptx.operands import (
    Address,
    Operand,
    Reg,
    Register,
    Symbol,
    split_operands,
)
from gridlane.frontends.ptx.scopes import Scopes
from gridlane.frontends.ptx.text import LOC

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
_INDEX = re.compile(r"([A-Za-z_$%][\w$]*)\s*(?:\+\s*(.+))?")
_TABLE = re.compile(r"\s*\.(?:callprototype|branchtargets|calltargets)\b")
_LOC = re.compile(
    r"\.loc\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})"
    r"(?:[^\0]*\binlined_at\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9}))?"
)
_MEMORY = frozenset(("ld", "ldu", "st", "atom", "red"))


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
        self.scopes = Scopes(module, function, self.body)
        self.operands = OperandReader(self.text, self.scopes)
        self.line: tuple[int, ...] | None = None
        self.last_label = ""
        targets = _TARGETS.findall(self.code, function.start, function.end)
        self.targets = {name.strip() for one, many in targets for name in (one or many).split(",")}
        self.decoded: dict[str, Operand] = {}
        self.opcodes: dict[str, tuple[str, tuple[str, ...]]] = {}

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
                self.scopes.brace(statement["brace"], statement.start("brace"))
                self.decoded = {}
            elif statement["op"][0] == ".":
                self._directive(statement)
            else:
                self._instruction(statement)

    def _loc(self, text: str) -> None:
        if match := _LOC.match(text):
            self.line = tuple(int(each) for each in match.groups() if each)

    def _label(self, statement: re.Match[str]) -> None:
        name, position = statement["label"], statement.start("label")
        key = self.scopes.all[-1][0], name
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

    # --- declarations

    def _directive(self, statement: re.Match[str]) -> None:
        word, rest, position = statement["op"], statement["rest"], statement.start("op")
        if word.startswith(".reg"):
            self.scopes.declare_registers(word[4:] + rest, position)
        elif word.partition(".")[2].partition(".")[0] in ("shared", "local", "param"):
            space, _, more = word[1:].partition(".")
            head, _, value = rest.partition("=")
            if value:
                self.text.fail(f"a .{space} variable has no initial value", statement.start("rest"))
            variable = declared(self.text, (f".{more}" if more else "") + head, space, position)
            self.scopes.declare(variable.name, variable)
            self.body.variables.append(variable)
        elif re.match(r"\.(global|const)\b", word):
            space = word[1:].partition(".")[0]
            start = position + 1 + len(space)
            head = self.code[start : statement.end("rest")].partition("=")[0]
            variable = declared(self.text, head, space, start)
            self.scopes.declare(variable.name, self.module.variables[name_within(variable)])
        elif word == ".branchtargets" or word == ".calltargets":
            names_ = tuple(part for part, _ in split_operands(rest))
            self.body.tables[self.last_label] = names_
        elif word not in (".pragma", ".callprototype", ".file"):
            self.text.fail(f"no directive of a body: {word}", position, len(word))

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
            self.operands.in_call = root == "call"
            for part, where in split_operands(rest):
                operand = self.decoded.get(part)
                if operand is None and root in INDEXED and (element := self._indexed(part)):
                    register = self._computed(element, statement)
                    operands.append(Address(register, 0) if root != "mov" else Reg(register))
                    continue
                if operand is None:
                    operand = self.decoded[part] = self.operands.read(part, start + where)
                if root in _MEMORY and isinstance(operand, Symbol) and part[-1] == "]":
                    operand = Address(operand, 0)  # an element stands without brackets around it
                operands.append(operand)
        guard = self._guard(statement["guard"], position) if statement["guard"] else None
        instruction = Instruction(root, modifiers, tuple(operands), guard, position, self.line)
        if len(self.scopes.all) > 1:
            self.body.scopes[position] = self.scopes.all[-1][0]
        self.body.blocks[-1].instructions.append(instruction)
        if root in ("bra", "brx", "ret", "exit", "trap"):
            self.body.blocks.append(Block(len(self.body.blocks), statement.end()))

    def _guard(self, text: str, position: int) -> Reg:
        name = text.lstrip("!").strip()
        register = self.scopes.find(name)
        if not isinstance(register, Register) or register.type is not b1:
            self.text.fail(f"@{text}: no predicate is called {name}", position)
        return Reg(register, text[0] == "!")

    def _indexed(self, part: str) -> Element | None:
        """An element of an array at a register and perhaps a constant."""
        match = ELEMENT.fullmatch(part)
        index = _INDEX.fullmatch(match[2].strip()) if match else None
        if not match or not index:
            return None
        variable, register = self.scopes.find(match[1]), self.scopes.find(index[1])
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
        register, steps = steps_to(
            element, bits, lambda kind: self.scopes.register("%element", kind)
        )
        # Each has a place of its own, by which instructions are known.
        for place, (root, modifiers, operands) in enumerate(steps, position + 1):
            instruction = Instruction(root, modifiers, operands, None, place, self.line)
            self.body.blocks[-1].instructions.append(instruction)
        return register
