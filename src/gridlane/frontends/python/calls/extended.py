"""Calls, attributes and operators that the program implements itself: the tables of extensions.

An entry is called with the types of the arguments, first without the values of constants and then
with them, or in the opposite order if it prefers that. The first entry that has an implementation
is used; where none has, the dialect's own function is, if there is one.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

from gridlane.core.argtypes import ArgType, NoneType, Signature
from gridlane.core.dtypes import b1
from gridlane.core.errors import CompileError, GridlaneError, TypingError
from gridlane.core.signatures import signature_of
from gridlane.core.source import describe
from gridlane.frontends.python.attributes import ARRAY_METHODS
from gridlane.frontends.python.calls.device import call_device
from gridlane.frontends.python.calls.strictness import check_parameters
from gridlane.frontends.python.closures import passed_on
from gridlane.frontends.python.conversion import cast_to
from gridlane.frontends.python.device_function import DeviceFunction, device_function_of
from gridlane.frontends.python.extensions import EXTENSIONS, Emit, Entry, Overload
from gridlane.frontends.python.operands import (
    NONE,
    ArrayView,
    BoundMethod,
    Chars,
    ComplexNumber,
    EnumVariable,
    Operand,
    Pointer,
    RecordValue,
    RecordView,
    Scalar,
    Time,
    TupleOperand,
    UserValue,
    Vector,
)
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.typing_types import typing_type
from gridlane.ir.values import Value

Keywords = dict[str, Operand]


def call_extended(
    t: Translator, target: Any, arguments: list[Operand], keywords: Keywords, has_own: bool
) -> Operand | None:
    """``target(*arguments, **keywords)`` by the entries of ``target``; None where there are none,
    or none that takes the arguments and the dialect has a function itself (``has_own``).

    Raises:
        TypingError: no entry takes the arguments.
    """
    entries = EXTENSIONS.entries(target)
    if not entries:
        return None
    return call_entries(t, _name(target), entries, arguments, keywords, has_own)


def call_entries(
    t: Translator,
    name: str,
    entries: Sequence[Entry],
    arguments: list[Operand],
    keywords: Keywords,
    has_own: bool,
) -> Operand | None:
    """As ``call_extended``, for the entries of anything that is called ``name`` in an error."""
    arguments = [passed_on(t, item) for item in arguments]
    keywords = {key: passed_on(t, item) for key, item in keywords.items()}
    refusals: list[str] = []
    for entry in entries:
        attempts = (True, False) if entry.prefer_literal else (False, True)
        tried: list[Any] = []
        for literal in attempts:
            shown = [typing_type(t, item, literal) for item in arguments]
            named = {key: typing_type(t, item, literal) for key, item in keywords.items()}
            if (shown, named) in tried:
                continue
            tried.append((shown, named))
            try:
                operand = _attempt(t, entry, shown, named, arguments, keywords, has_own)
            except _Failed as failure:
                raise _with_place(failure.error, t) from None
            except _Refused as reason:
                refusals += [str(reason)] if str(reason) not in refusals else []
                continue
            if operand is not None:
                return operand
    if has_own:
        return None
    given = [*[item.type_name for item in arguments]]
    given += [f"{key}={item.type_name}" for key, item in keywords.items()]
    why = "".join(f"\n  {line}" for text in refusals for line in text.splitlines())
    raise t.fail(
        TypingError,
        f"No implementation of function {name} found for the types ({', '.join(given)}); "
        f"it has {len(entries)} registered{':' if why else ', and none takes them'}{why}",
    )


class _Refused(Exception):
    """An entry that refused the types by an error of typing, instead of returning None; the next
    one is called, as in numba."""


class _Failed(Exception):
    """An entry that raised any other error: that is the program's, and no other entry hides it."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        super().__init__(error)


def _with_place(error: Exception, t: Translator) -> Exception:
    """The error of a function of types, with the place in the kernel that called it."""
    if isinstance(error, TypingError):
        return t.fail(TypingError, error.message)
    place = describe(t.b.loc)
    if place not in getattr(error, "__notes__", ()):
        error.add_note(place)
    return error


def _attempt(
    t: Translator,
    entry: Entry,
    shown: list[ArgType],
    named: dict[str, ArgType],
    arguments: list[Operand],
    keywords: Keywords,
    has_own: bool,
) -> Operand | None:
    """The result by one entry for one choice of types; None where it does not take them."""
    if isinstance(entry, Overload):
        device = _implementation(t, entry, shown, named)
        if device is None or (has_own and _is_active(t, device)):
            return None
        return call_device(t, device, arguments, keywords)
    choice = _asked(entry.choose, shown, named)
    if choice is None:
        return None
    signature, emit = choice
    return _lowered(t, signature, emit, [*arguments, *keywords.values()])


def _is_active(t: Translator, device: DeviceFunction) -> bool:
    """Whether an implementation is being translated: what it calls by the name of the function that
    it implements is the dialect's."""
    return any(function is device.py_func for function, _ in t.unit.active)


def _implementation(
    t: Translator, entry: Overload, shown: list[ArgType], named: dict[str, ArgType]
) -> DeviceFunction | None:
    """The implementation for types, one object for a module."""
    key = entry, tuple(shown), tuple(named.items())
    if key not in t.unit.chosen:
        t.unit.chosen[key] = _chosen(entry, shown, named)
    return t.unit.chosen[key]


def _chosen(
    entry: Overload, shown: list[ArgType], named: dict[str, ArgType]
) -> DeviceFunction | None:
    choice = _asked(entry.choose, shown, named)
    if choice is None:
        return None
    signatures: tuple[Signature, ...] = ()
    if isinstance(choice, tuple):
        signature, choice = choice
        signatures = (signature,)
    device = device_function_of(choice)
    if device is None and not isinstance(choice, types.FunctionType):
        message = (
            f"{entry.choose.__qualname__}() returned {choice!r}; it returns a function, or None"
        )
        raise _Failed(TypingError(message))
    function: Any = choice if device is None else device.py_func
    if entry.strict:
        try:
            check_parameters(entry.choose, function)
        except ValueError as error:
            raise _Refused(str(error)) from None
    if device is not None:
        return device
    return DeviceFunction(function, signatures=signatures, floats=entry.floats)


def _asked(ask: Any, shown: list[ArgType], named: dict[str, ArgType]) -> Any:
    """The result of a function of types.

    Raises:
        _Refused: it does not have these parameters, or raised an error of typing.
        _Failed: it raised another error.
    """
    name = getattr(ask, "__qualname__", str(ask))
    try:
        signature_of(ask).bind(*shown, **named)
    except TypeError as error:
        raise _Refused(f"{name}{signature_of(ask)}: {error}") from None
    try:
        return ask(*shown, **named)
    except GridlaneError as error:
        reason = error.message if isinstance(error, CompileError) else str(error)
        raise _Refused(f"{name}() raised {type(error).__name__}: {reason}") from error
    except RecursionError:
        raise  # the translation is done again with more stack
    except Exception as error:
        raise _Failed(error) from error


def _lowered(
    t: Translator, signature: Signature, emit: Emit | None, operands: list[Operand]
) -> Operand:
    """A call whose code another function emits."""
    if len(operands) != len(signature.args):
        raise _Refused(f"the signature {signature} has {len(signature.args)} arguments")
    if emit is None:
        raise _Refused(f"no code is registered for {signature}: write @lower(...)")
    given = [
        cast_to(t, item, kind) if not _is_same(t, item, kind) else item
        for item, kind in zip(operands, signature.args, strict=True)
    ]
    operand: Operand = emit(t, signature, given)
    return NONE if isinstance(signature.return_type, NoneType) else operand


def _is_same(t: Translator, operand: Operand, kind: ArgType) -> bool:
    return typing_type(t, operand, False) == kind or typing_type(t, operand, True) == kind


def _name(target: Any) -> str:
    return getattr(target, "__qualname__", None) or getattr(target, "__name__", repr(target))


# ---- attributes and methods


def extended_member(t: Translator, base: Operand, name: str) -> Operand | None:
    """``base.name`` by the program's attributes and methods; None where its type has none."""
    if name not in EXTENSIONS.members:
        return None
    entries = _entries(t, base, name, False)
    if entries:
        what = f"the attribute {name} of {base.type_name}"
        return call_entries(t, what, entries, [base], {}, False)
    if _entries(t, base, name, True):
        return BoundMethod(base, name, _has_own_method(base, name))
    return None


def _has_own_method(base: Operand, name: str) -> bool:
    if isinstance(base, ArrayView):
        return name in ARRAY_METHODS
    if isinstance(base, TupleOperand):
        return name in ("index", "count") or base.cls is not None
    return isinstance(base, Scalar | ComplexNumber) and name in ("conjugate", "conj", "bit_count")


def call_extended_method(
    t: Translator,
    base: Operand,
    name: str,
    arguments: list[Operand],
    keywords: Keywords,
    has_own: bool,
) -> Operand | None:
    """``base.name(...)`` by the program's methods; None as of ``call_extended``."""
    entries = _entries(t, base, name, True) if name in EXTENSIONS.members else []
    if not entries:
        return None
    what = f"{name}() of {base.type_name}"
    return call_entries(t, what, entries, [base, *arguments], keywords, has_own)


def _entries(t: Translator, base: Operand, name: str, methods: bool) -> list[Entry]:
    try:
        kind = typing_type(t, base, False)
    except CompileError:
        return []
    members = EXTENSIONS.members_of(kind, name)
    return [each.entry for each in members if each.is_method is methods]


# ---- operators


def extended_operator(
    t: Translator, functions: tuple[Any, ...], operands: list[Operand]
) -> Operand | None:
    """An operator, by the entries of its functions in ``operator``, the first that has some.

    Those of numbers are the dialect's in any case. None where there are no entries, or none that
    takes the operands, and no operand is of a type of the program's.
    """
    if not EXTENSIONS.operators or all(isinstance(each, Scalar) for each in operands):
        return None
    has_own = not any(isinstance(each, UserValue) for each in operands)
    for function in functions:
        if EXTENSIONS.entries(function):
            return call_extended(t, function, operands, {}, has_own)
    return None


_WITH_OWN_TRUTH = Chars, TupleOperand, ComplexNumber, EnumVariable, Time
_WITH_TYPES = *_WITH_OWN_TRUTH, UserValue, ArrayView, Pointer, RecordView, RecordValue
"""The operands that are asked for: numbers, None, constant text and functions have their
truth."""


def extended_truth(t: Translator, operand: Operand) -> Value | None:
    """Whether an operand counts as true by the program's entries of ``bool``, as numba calls it
    where a condition is needed; None as of ``call_extended``.

    Raises:
        TypingError: the implementation returns no number.
    """
    if not isinstance(operand, _WITH_TYPES) or not EXTENSIONS.entries(bool):
        return None
    has_own = isinstance(operand, _WITH_OWN_TRUTH) and not isinstance(operand, Vector)
    verdict = call_extended(t, bool, [operand], {}, has_own)
    if verdict is None or isinstance(verdict, Scalar):
        return None if verdict is None else t.b.cast(verdict.value, b1)
    raise t.fail(
        TypingError,
        f"bool() of {operand.type_name} gives {verdict.type_name}; an overload of bool returns a "
        "bool or a number",
    )
