"""The models of a program's types: of what members their values consist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gridlane.core.argtypes import ArgType
from gridlane.core.errors import UnsupportedError
from gridlane.cuda.extending.lowering.types import kind_of_llvm
from gridlane.cuda.extending.lowers import lower_getattr
from gridlane.cuda.extending.templates import add_attribute
from gridlane.frontends.python.extensions import EXTENSIONS, WRAPPED

Members = Sequence[tuple[str, ArgType]]


class DataModel:
    """Base of the models.

    Attributes:
        fe_type: the type whose values it describes.
    """

    def __init__(self, dmm: Any, fe_type: ArgType) -> None:
        self.fe_type = fe_type

    @property
    def members(self) -> tuple[tuple[str, ArgType], ...]:
        """The name and the type of each member."""
        return ()


class StructModel(DataModel):
    """Named members of given types."""

    def __init__(self, dmm: Any, fe_type: ArgType, members: Members) -> None:
        super().__init__(dmm, fe_type)
        self._members = tuple((str(name), kind) for name, kind in members)
        for name, kind in self._members:
            if not isinstance(kind, ArgType):
                raise TypeError(f"the member {name} of {fe_type} has no type, but {kind!r}")

    @property
    def members(self) -> tuple[tuple[str, ArgType], ...]:
        """The name and the type of each member."""
        return self._members

    def get_member_fe_type(self, name: str) -> ArgType:
        """The type of a member."""
        return dict(self._members)[name]


class OpaqueModel(DataModel):
    """No data."""


class PrimitiveModel(DataModel):
    """One number, of a type of llvmlite."""

    def __init__(self, dmm: Any, fe_type: ArgType, be_type: Any) -> None:
        super().__init__(dmm, fe_type)
        self._value = kind_of_llvm(be_type)

    @property
    def members(self) -> tuple[tuple[str, ArgType], ...]:
        """The number."""
        return (("value", self._value),)


class ModelManager:
    """Numba's data model manager: it looks up models."""

    def lookup(self, fe_type: ArgType) -> Any:
        """The model of a type."""
        return StructModel(self, fe_type, EXTENSIONS.structure(fe_type))

    def __getitem__(self, fe_type: ArgType) -> Any:
        return self.lookup(fe_type)

    def register(self, fetypecls: type, handler: Any) -> None:
        """As ``register_model``."""
        register_model(fetypecls)(handler)

    def chain(self, other: Any) -> ModelManager:
        """The manager itself: there is only one."""
        return self


default_manager = cuda_data_manager = ModelManager()


def register_model(kind: type[ArgType]) -> Any:
    """Decorate the model of a class of types.

    Raises:
        TypeError: ``kind`` is no class of types.
    """
    if not isinstance(kind, type) or not issubclass(kind, ArgType):
        raise TypeError(f"register_model takes a class derived from types.Type, not {kind!r}")

    def add(model: Any) -> Any:
        def structure(own: ArgType) -> tuple[tuple[str, ArgType], ...]:
            data_model = model(default_manager, own)
            if not isinstance(data_model, DataModel):
                raise UnsupportedError(f"the model of {own} is derived from none of models'")
            return data_model.members

        EXTENSIONS.models[kind] = structure
        return model

    return add


register_default = register_model


def make_attribute_wrapper(typeclass: type[ArgType], struct_attr: str, python_attr: str) -> None:
    """Make a member of a model an attribute in kernels.

    Args:
        typeclass: the class of types.
        struct_attr: the name of the member.
        python_attr: the name of the attribute.
    """
    if not isinstance(typeclass, type) or not issubclass(typeclass, ArgType):
        raise TypeError(f"typeclass should be a Type subclass, got {typeclass!r}")

    def type_of(kind: ArgType) -> ArgType:
        members = dict(EXTENSIONS.structure(kind))
        if struct_attr not in members:
            raise TypeError(f"{kind} has no member {struct_attr}; it has {', '.join(members)}")
        return members[struct_attr]

    def code(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        names = [name for name, _ in EXTENSIONS.structure(kind)]
        return builder.extract_value(value, names.index(struct_attr))

    WRAPPED.setdefault(typeclass, {})[struct_attr] = python_attr
    lower_getattr(typeclass, python_attr)(code)
    add_attribute(typeclass, python_attr, type_of)


__all__ = [
    "DataModel", "OpaqueModel", "PrimitiveModel", "StructModel", "default_manager",
    "make_attribute_wrapper", "register_default", "register_model",
]  # fmt: skip
