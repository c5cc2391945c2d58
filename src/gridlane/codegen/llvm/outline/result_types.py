"""The types of values in LLVM IR as text, from the instructions that make them."""

from __future__ import annotations

import re
from collections.abc import Callable


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FLAGS = _words(
    "nuw nsw nusw exact disjoint nneg inbounds samesign volatile atomic weak tail notail "
    "fast nnan ninf nsz arcp contract afn reassoc fastcc"
)
_CONVERSIONS = _words(
    "trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint inttoptr bitcast "
    "addrspacecast"
)
_SAME = _words(
    "add sub mul udiv sdiv urem srem shl lshr ashr and or xor fneg fadd fsub fmul fdiv frem "
    "freeze phi load call insertelement insertvalue"
)
"""Opcodes whose result has the type that comes first."""
_CLOSING = {"<": ">", "[": "]", "{": "}"}
_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "ptr": 64}
_VECTOR = re.compile(r"<(\d+) x (\w+)>")
_CONVERTED = re.compile(r" to (<[^>]*>|\w+)")


def result_type(instruction: str) -> str:
    """The type of an instruction's result; ``instruction`` is the text after ``=``.

    >>> result_type("fmul fast <8 x float> %a, %b"), result_type("icmp ult <8 x i64> %a, %b")
    ('<8 x float>', '<8 x i1>')
    """
    opcode, _, rest = instruction.strip().partition(" ")
    if opcode in _CONVERSIONS:
        match = _CONVERTED.search(rest)
        assert match, instruction
        return match[1]
    if opcode in ("icmp", "fcmp"):
        tokens = rest.split(" ")
        predicate = next(n for n, word in enumerate(tokens) if word not in _FLAGS)
        return _like(_first(" ".join(tokens[predicate + 1 :]))[0], "i1")
    if opcode in _SAME:
        return _first(rest)[0]
    if opcode not in _OTHERS:
        raise ValueError(f"the type of {instruction.strip()!r} is unknown")
    return _OTHERS[opcode](rest)


def bytes_of(type_: str) -> int:
    """The bytes of a scalar, a vector or a struct of two in memory, rounded up."""
    if type_.startswith("{"):
        return sum(-(-bytes_of(part.strip()) // 16) * 16 for part in type_[1:-1].split(","))
    vector = _VECTOR.fullmatch(type_)
    count, name = (int(vector[1]), vector[2]) if vector else (1, type_)
    return -(-count * (_BITS.get(name) or int(name[1:])) // 8)


def _first(text: str) -> tuple[str, str]:
    """The type at the start of a text, after flags, and the text after it."""
    while True:
        text = text.lstrip()
        word, _, rest = text.partition(" ")
        if word not in _FLAGS:
            break
        text = rest
    if text[0] not in _CLOSING:
        end = re.match(r"[\w.]+", text)
        assert end, text
        return end[0], text[end.end() :]
    depth = 0
    for n, letter in enumerate(text):
        depth += (letter in _CLOSING) - (letter in _CLOSING.values())
        if not depth:
            return text[: n + 1], text[n + 1 :]
    raise ValueError(f"{text!r} has no type in front")


def _operands(text: str) -> list[str]:
    """The operands, each with its type, split at commas outside of brackets."""
    operands, depth, start = list[str](), 0, 0
    for n, letter in enumerate(text):
        depth += (letter in "<[{(") - (letter in ">]})")
        if letter == "," and not depth:
            operands.append(text[start:n])
            start = n + 1
    return [*operands, text[start:]]


def _like(type_: str, name: str) -> str:
    """A scalar type with as many elements as another type."""
    vector = _VECTOR.fullmatch(type_)
    return f"<{vector[1]} x {name}>" if vector else name


def _shuffled(text: str) -> str:
    first, _, mask = (_first(operand)[0] for operand in _operands(text)[:3])
    kinds = _VECTOR.fullmatch(first), _VECTOR.fullmatch(mask)
    assert kinds[0] and kinds[1], text
    return f"<{kinds[1][1]} x {kinds[0][2]}>"


def _address(text: str) -> str:
    """A pointer, or a vector of them if the base or an index is one."""
    for operand in _operands(text)[1:]:
        type_ = _first(operand)[0]
        if _VECTOR.fullmatch(type_):
            return _like(type_, "ptr")
    return "ptr"


def _element(text: str) -> str:
    vector = _VECTOR.fullmatch(_first(text)[0])
    assert vector, text
    return vector[2]


def _part(text: str) -> str:
    struct, index = _operands(text)
    type_ = _first(struct)[0]
    return _operands(type_[1:-1])[int(index)].strip()


def _pointer(text: str) -> str:
    return "ptr"


def _second(text: str) -> str:
    return _first(_operands(text)[1])[0]


def _second_and_whether(text: str) -> str:
    return f"{{ {_second(text)}, i1 }}"


_OTHERS: dict[str, Callable[[str], str]] = {
    "alloca": _pointer,
    "select": _second,
    "extractelement": _element,
    "extractvalue": _part,
    "shufflevector": _shuffled,
    "getelementptr": _address,
    "atomicrmw": _second,
    "cmpxchg": _second_and_whether,
}
