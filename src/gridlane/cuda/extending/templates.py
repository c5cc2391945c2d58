"""The types of calls and attributes: numba's classes of templates, and functions that give them."""

from __future__ import annotations

from typing import Any, ClassVar

from gridlane.core.argtypes import ArgType, Signature
from gridlane.core.errors import UnsupportedError
from gridlane.core.type_kinds import Function, unliteral
from gridlane.cuda.extending.lowers import code_of, code_of_attribute
from gridlane.cuda.extending.typing_context import TYPING_CONTEXT
from gridlane.cuda.names import missing
from gridlane.frontends.python.extensions import EXTENSIONS, Emit, Lowered, Member


def signature(return_type: ArgType, *args: ArgType, recvr: ArgType | None = None) -> Signature:
    """The signature of a function."""
    return Signature(return_type, args)


class Template:
    """Base of the templates; ``key`` is what is called, or the class of types with attributes."""

    key: ClassVar[Any] = None

    def __init__(self, context: Any = TYPING_CONTEXT) -> None:
        self.context = context


class AbstractTemplate(Template):
    """A call whose signature ``generic(args, kws)`` returns."""

    def generic(self, args: Any, kws: Any) -> Signature | None:
        """The signature for types of arguments; None where it does not take them."""
        raise NotImplementedError(f"{type(self).__name__}.generic")


class ConcreteTemplate(Template):
    """A call with one of the signatures in ``cases``."""

    cases: ClassVar[list[Signature]] = []

    def generic(self, args: Any, kws: Any) -> Signature | None:
        """The signature whose arguments are of these types."""
        given = tuple(map(unliteral, args))
        return next((case for case in self.cases if case.args == given and not kws), None)


class CallableTemplate(Template):
    """A call whose result ``generic()`` types: it returns a function of the types."""

    def generic(self) -> Any:
        """The function of the types."""
        raise NotImplementedError(f"{type(self).__name__}.generic")


class AttributeTemplate(Template):
    """Attributes of the types of class ``key``: ``resolve_NAME(type)`` returns the type of one."""


def infer(template: type[Template]) -> type[Template]:
    """Register the template of a call, whose ``key`` is what kernels call."""
    add_callable(template.key, template)
    return template


def infer_global(value: Any, typ: Any = None, *, typing_key: Any = None) -> Any:
    """Register the template of a call of an object; a decorator where ``typ`` is missing. The code
    is that of ``typing_key``, the object itself where it is missing."""
    if typ is not None:
        template = typ.value if isinstance(typ, Function) else None
        if isinstance(template, type) and issubclass(template, Template):
            add_callable(value, template)
        return typ

    def add(template: type[Template]) -> type[Template]:
        add_callable(value, template, typing_key)
        return template

    return add


def infer_getattr(template: type[AttributeTemplate]) -> type[AttributeTemplate]:
    """Register the template of attributes."""
    names = [name.removeprefix("resolve_") for name in dir(template) if name[:8] == "resolve_"]
    if hasattr(template, "generic_resolve") or not names:
        raise UnsupportedError(
            f"{template.__name__}: give each attribute by a method resolve_NAME, or by "
            "@overload_attribute and @overload_method"
        )
    for name in names:
        add_attribute(template.key, name, getattr(template(), f"resolve_{name}"))
    return template


def add_attribute(kind: Any, name: str, type_of: Any) -> None:
    """Register an attribute by the function that returns its type; ``lower_getattr`` has its
    code."""

    def choose(base: ArgType) -> tuple[Signature, Emit | None] | None:
        type_of_attribute = type_of(base)
        if type_of_attribute is None:
            return None
        return Signature(type_of_attribute, (base,)), code_of_attribute(base, name)

    EXTENSIONS.members.setdefault(name, []).append(Member(kind, False, Lowered(choose)))


def add_callable(function: Any, template: type[Template], key: Any = None) -> None:
    """Register the types of calls of an object; ``lower_builtin`` has their code, for ``key`` where
    that is given."""

    def choose(*types: ArgType, **named: ArgType) -> tuple[Signature, Emit | None] | None:
        typing_template: Any = template()
        if isinstance(typing_template, CallableTemplate):
            typing_result = typing_template.generic()(*types, **named)
        else:
            typing_result = typing_template.generic(types, named)
        return typed_call(key or function, typing_result, (*types, *named.values()))

    EXTENSIONS.add(function, Lowered(choose))


def typed_call(
    function: Any, typing_result: Any, types: tuple[ArgType, ...]
) -> tuple[Signature, Emit | None] | None:
    """A signature with its code, from what a function of types returned: a signature or a type."""
    if typing_result is None:
        return None
    if not isinstance(typing_result, Signature):
        typing_result = Signature(typing_result, tuple(map(unliteral, types)))
    return typing_result, code_of(function, typing_result)


def type_callable(function: Any) -> Any:
    """Decorate a function that gets the typing context and returns a function of types: the type of
    a call's result, or None. ``lower_builtin`` has the code of the call."""

    def add(typing_function: Any) -> Any:
        def choose(*types: ArgType, **named: ArgType) -> tuple[Signature, Emit | None] | None:
            typing_result = typing_function(TYPING_CONTEXT)(*types, **named)
            return typed_call(function, typing_result, (*types, *named.values()))

        EXTENSIONS.add(function, Lowered(choose))
        return typing_function

    return add


class Registry:
    """numba's registry of types: the names of its methods are all that there is of it."""

    def register(self, template: type[Template]) -> type[Template]:
        """As ``infer``."""
        return infer(template)

    def register_attr(self, template: type[AttributeTemplate]) -> type[AttributeTemplate]:
        """As ``infer_getattr``."""
        return infer_getattr(template)

    def register_global(self, value: Any = None, typ: Any = None, *, typing_key: Any = None) -> Any:
        """As ``infer_global``."""
        return infer_global(value, typ, typing_key=typing_key)


registry = Registry()
register, register_attr, register_global = (
    registry.register,
    registry.register_attr,
    registry.register_global,
)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "cuda.typing.templates")
