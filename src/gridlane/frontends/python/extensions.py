"""What programs add to the dialect: implementations of functions, methods and attributes, chosen by
the types of their arguments, and types of their own with their members.

``cuda.extending`` fills the tables; ``calls/extended.py`` reads them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from gridlane.core.argtypes import ArgType, NestedArrayType, Signature, TupleType
from gridlane.core.errors import TypingError
from gridlane.core.type_kinds import Opaque

TARGETS = ("cuda", "gpu", "generic")
"""The targets of implementations that kernels use, the most specific one first."""

_OTHERS = ("cpu", "npyufunc")
"""numba's other targets, whose implementations kernels do not use."""


def check_target(name: str) -> str:
    """The name of a target.

    Raises:
        ValueError: it is none, so that nothing would ever use what is registered for it.
    """
    if name not in (*TARGETS, *_OTHERS):
        known = ", ".join((*TARGETS, *_OTHERS))
        raise ValueError(f"No target is registered against {name!r}, known targets: {known}")
    return name


@dataclass(frozen=True, eq=False)
class Overload:
    """A function of types that returns a Python function, the implementation for them.

    Attributes:
        choose: called with the types of the arguments. It returns None where it has no
            implementation, or the implementation, or a signature and the implementation.
        strict: whether the parameters of both have to be the same.
        prefer_literal: whether the types of constants are tried with their values first.
        target: one of ``TARGETS``, or a target without kernels.
        floats: what Python floats are in the implementation; None for what they are in the caller.
    """

    choose: Callable[..., Any]
    strict: bool = True
    prefer_literal: bool = False
    target: str = "cuda"
    floats: str | None = None


class Emit(Protocol):
    """Emits the code of a call: from the translation, the signature and the operands."""

    def __call__(self, t: Any, signature: Signature, operands: list[Any], /) -> Any: ...


@dataclass(frozen=True, eq=False)
class Lowered:
    """A function of types that returns a signature and what emits the code of a call with it.

    Attributes:
        choose: called with the types of the arguments, by position and by keyword. It returns None
            where the function does not take them, and no code where none is registered.
    """

    choose: Callable[..., tuple[Signature, Emit | None] | None]
    prefer_literal: bool = False
    target: str = "cuda"


Entry = Overload | Lowered


@dataclass(frozen=True, eq=False)
class Member:
    """An attribute or a method of a type.

    Attributes:
        kind: a class of types, one type, or a ``TypeRef`` to a class for a class method.
        is_method: whether it is called.
        entry: its implementation; the receiver is the first argument.
    """

    kind: Any
    is_method: bool
    entry: Entry

    def belongs_to(self, kind: ArgType) -> bool:
        """Whether a type has it."""
        if isinstance(self.kind, type):
            return isinstance(kind, self.kind)
        return self.kind == kind


Structure = tuple[tuple[str, ArgType], ...]
"""The name and the type of each member of a type."""

_MOST_NESTED = 100


class _Asked(threading.local):
    """The types whose models a thread is computing, each a part of the one before it."""

    def __init__(self) -> None:
        self.chain: list[ArgType] = []


_ASKED = _Asked()


@dataclass
class Extensions:
    """The tables.

    Attributes:
        functions: entries by the object that is called.
        members: attributes and methods by name.
        models: for a class of types, the function that returns the members of one of its types.
        constants: the functions that find the type of an object which a kernel captures, and what
            emits its value; None where no code is registered for the object.
        operators: whether an operator or ``bool`` has entries: an expression does not name it.
        known: the members of the types met so far.
    """

    functions: dict[Any, list[Entry]] = field(default_factory=dict)
    members: dict[str, list[Member]] = field(default_factory=dict)
    models: dict[type, Callable[[ArgType], Structure]] = field(default_factory=dict)
    constants: list[Callable[[Any], tuple[ArgType, Emit] | None]] = field(default_factory=list)
    operators: bool = False
    known: dict[ArgType, Structure] = field(default_factory=dict)

    def add(self, function: Any, entry: Entry) -> None:
        """Add an entry for an object that kernels call."""
        self.functions.setdefault(function, []).append(entry)
        if function is bool or getattr(function, "__module__", None) in ("operator", "_operator"):
            self.operators = True

    def constant_of(self, value: Any) -> tuple[ArgType, Emit] | None:
        """The type of a captured object and what emits its value; None where it has none."""
        found = (find(value) for find in self.constants)
        return next((each for each in found if each is not None), None)

    def entries(self, function: Any) -> list[Entry]:
        """The entries of an object, the most specific target's first, each in order."""
        try:
            all_entries = self.functions.get(function, ())
        except TypeError:  # an object without a hash
            return []
        return [each for target in TARGETS for each in all_entries if each.target == target]

    def members_of(self, kind: ArgType, name: str) -> list[Member]:
        """The attributes and methods of a type with a name."""
        members = [each for each in self.members.get(name, ()) if each.belongs_to(kind)]
        return [each for target in TARGETS for each in members if each.entry.target == target]

    def structure(self, kind: ArgType) -> Structure:
        """The members of a user's type: names and types.

        Raises:
            TypingError: the type has no model, or one by which its values have no end, or two
                members of one name.
        """
        known = self.known.get(kind)
        if known is not None:
            return known
        chain = _ASKED.chain
        if kind in chain:
            raise TypingError(_without_end(chain[chain.index(kind) :]))
        if len(chain) >= _MOST_NESTED:
            first = ", ".join(map(str, chain[:3]))
            raise TypingError(f"{first}, ...: types within types, more than {_MOST_NESTED} deep")
        chain.append(kind)
        try:
            members = self._structure(kind)
            _check_names(kind, members)
            for part in _within([member for _, member in members]):
                self.structure(part)
        finally:
            chain.pop()
        self.known[kind] = members
        return members

    def types_of(self, kind: ArgType) -> tuple[ArgType, ...]:
        """The types of the members of a user's type."""
        return tuple([member for _, member in self.structure(kind)])

    def _structure(self, kind: ArgType) -> Structure:
        for cls in type(kind).__mro__:
            model = self.models.get(cls)
            if model is not None:
                return model(kind)
        if isinstance(kind, Opaque):
            return ()
        cls = type(kind).__name__
        raise TypingError(
            f"the type {kind} has no model; write @register_model({cls}) above a class that is "
            "derived from models.StructModel and lists the members"
        )


def _within(kinds: Iterable[ArgType]) -> Iterator[ArgType]:
    """The program's types whose values are part of values of these types."""
    for kind in kinds:
        if isinstance(kind, TupleType):
            yield from _within(kind.items)
        elif isinstance(kind, NestedArrayType):
            yield from _within((kind.element,))
        elif isinstance(kind, ArgType) and is_users(kind):
            yield kind


def _without_end(chain: list[ArgType]) -> str:
    cycle = " -> ".join(map(str, (*chain, chain[0])))
    return (
        f"the model of {chain[0]} contains {chain[0]} itself ({cycle}), so that its values have no "
        "end; keep them in an array, and an index of it as the member"
    )


def _check_names(kind: ArgType, structure: Structure) -> None:
    names = [name for name, _ in structure]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise TypingError(f"the model of {kind} has two members called {twice}; rename one of them")


EXTENSIONS = Extensions()
"""What the program has added."""

WRAPPED: dict[type, dict[str, str]] = {}
"""For a class of types, the attribute of each member."""


def is_users(kind: ArgType) -> bool:
    """Whether a type is of a class that a program derived from ``ArgType`` or a kind of types."""
    if isinstance(kind, Opaque):
        return True
    return hasattr(kind, "__dict__") and not type(kind).__module__.startswith("gridlane.core.")
