"""The numba that is installed, which compiles functions of ``njit``, ``vectorize`` and
``guvectorize`` for the host, and has the containers of ``numba.typed``.

gridlane's modules have its modules' names. numba's are in sys.modules, in their place, only while
numba loads or compiles; it imports modules of its own in both.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from gridlane.core.argtypes import (
    ArgType,
    ArrayType,
    ComplexType,
    NoneType,
    ScalarType,
    Signature,
    TupleType,
)
from gridlane.core.errors import TypingError
from gridlane.core.type_kinds import UnicodeType

SHIM = str(Path(__file__).with_name("shim"))
"""The folder on the PYTHONPATH of child processes, where ``numba`` is gridlane's."""
_ROOT = "numba"
_NAMES = {"bool": "boolean"}
_CALLED_FROM_C = ("_compile_for_args", "typeof_pyval")
"""Methods of numba's dispatcher by which a call enters Python: for types that it has not met."""
_OF_UFUNCS = {
    "vectorize": ("_compile_for_args", "add", "at"),
    "guvectorize": (
        "add",
        "build_ufunc",
        "find_ewise_function",
        "_get_ewise_dtypes",
        "_get_function_type",
    ),
}
"""The methods in which numba compiles a loop, or finds types, for what a decorator makes."""
TYPED = "numba.typed"
"""numba's containers for the host."""
_OF_CONTAINERS = {
    "Dict": ("empty", "__init__", "_initialise_dict"),
    "List": ("empty_list", "__init__", "_initialise_list"),
    "Set": ("empty", "__init__", "_initialise_set"),
}
"""The methods of containers in which numba finds types; the first one takes them."""
_lock = threading.RLock()
_modules: dict[str, ModuleType] = {}
_depth = 0
_replaced = False


class NotCompiledError(TypingError):
    """numba refuses a function; the message is its."""


def replace() -> None:
    """Put numba's modules aside, those that are loaded as well: their names are gridlane's now."""
    global _replaced
    with _lock:
        _replaced = True
        _modules.update(_taken())


def in_place() -> bool:
    """Whether imports of this moment are for the numba that is installed."""
    return _depth > 0


def spec_of(fullname: str) -> ModuleSpec | None:
    """The spec of numba's own package; None for its modules, which other finders find."""
    if fullname != _ROOT:
        return None
    return PathFinder.find_spec(_ROOT, [folder for folder in sys.path if folder != SHIM])


@contextmanager
def _placed() -> Generator[None]:
    """Put numba's modules in sys.modules, up to the end of the block."""
    global _depth
    with _lock:
        if _depth or not _replaced:
            yield
            return
        ours = _taken()
        sys.modules.update(_modules)
        _depth = 1
        try:
            yield
        finally:
            _depth = 0
            _modules.update(_taken())
            sys.modules.update(ours)


def _taken() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name.partition(".")[0] == _ROOT]
    return {name: sys.modules.pop(name) for name in names}


@cache
def numba() -> ModuleType | None:
    """numba's own package, loaded; None if it is not installed.

    Raises:
        NotCompiledError: it does not load.
    """
    if spec_of(_ROOT) is None:
        return None
    with _placed():
        try:
            return import_module(_ROOT)
        except ImportError as error:
            raise NotCompiledError(f"numba does not load: {error}") from error


def compiled(
    function: Callable[..., Any],
    signatures: Sequence[Any],
    options: dict[str, Any],
    kind: type[Any],
) -> Callable[..., Any] | None:
    """numba's dispatcher of a function for the host; None if numba is not installed.

    It compiles at its first call with arguments of other types.

    Args:
        kind: the class of what programs have in its place, and which functions call.

    Raises:
        NotCompiledError: numba refuses the signatures, the options or, in a call, the function.
    """
    package = numba()
    if package is None:
        return None
    with _placed():
        _register(package, kind)
        kept = _options(package, options)
        declared = [_signature(package, each) for each in signatures]
        with _refused(package):
            dispatcher = package.jit(declared or None, **kept)(_with_numbas(package, function))
    for name in _CALLED_FROM_C:
        setattr(dispatcher, name, _in_its_place(package, getattr(dispatcher, name)))
    return dispatcher


def ufunc(
    decorator: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    options: dict[str, Any],
    kind: type[Any],
) -> Any:
    """What numba's ``vectorize`` or ``guvectorize`` makes of a function for the host.

    Args:
        args: of the decorator: a list of signatures or the function, and the layout.
        kind: as for ``compiled``.

    Raises:
        NotCompiledError: numba refuses the signatures, the options or, in a call, the function.
    """
    package = numba()
    assert package is not None
    with _placed():
        _register(package, kind)
        kept = _options(package, options)
        arguments = [
            [_signature(package, one) for one in each] if isinstance(each, list) else each
            for each in args
        ]
        with _refused(package):
            result = getattr(package, decorator)(*arguments, **kept)(
                _with_numbas(package, function)
            )
    if isinstance(result, np.ufunc):  # of the target "parallel", which has all its loops
        return result
    for name in _OF_UFUNCS[decorator]:
        setattr(result, name, _in_its_place(package, getattr(result, name)))
    return result


def typed(name: str = TYPED) -> ModuleType:
    """The module of numba's containers, or one below it.

    Raises:
        ImportError: numba is not installed, does not load, or has no such module.
    """
    try:
        package = numba()
    except NotCompiledError as error:
        raise ImportError(str(error), name=name) from error
    if package is None:
        raise ModuleNotFoundError(
            f"{name} is numba's own, for the host, and numba is not installed: pip install numba",
            name=name,
        )
    with _placed():
        _prepare_containers(package)
        return import_module(name)


@cache
def _prepare_containers(package: ModuleType) -> None:
    """Make numba's containers accept gridlane's types, and compile them with numba's own modules in
    place."""
    containers = import_module(TYPED)
    for kind, (maker, *others) in _OF_CONTAINERS.items():
        owner = getattr(containers, kind, None)
        if owner is None:  # there is no Set in older versions
            continue
        factory = _placing(_with_types(package, getattr(owner, maker).__func__))
        setattr(owner, maker, classmethod(factory))
        for name in others:
            setattr(owner, name, _placing(getattr(owner, name)))
    dispatcher = package.core.dispatcher.Dispatcher
    for name in _CALLED_FROM_C:
        setattr(dispatcher, name, _placing(getattr(dispatcher, name)))
    pickles = package.core.serialize.cloudpickle  # compiled code reads the types of containers
    pickles.loads = _placing(pickles.loads)


def _with_types(package: ModuleType, maker: Callable[..., Any]) -> Callable[..., Any]:
    def numbas(value: Any) -> Any:
        return _type(package, value) if isinstance(value, ArgType) else value

    @functools.wraps(maker)
    def make(*args: Any, **named: Any) -> Any:
        return maker(*map(numbas, args), **{name: numbas(named[name]) for name in named})

    return make


def _placing(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **named: Any) -> Any:
        with _placed():
            return method(*args, **named)

    return call


def _in_its_place(package: ModuleType, method: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **named: Any) -> Any:
        with _placed(), _refused(package):
            return method(*args, **named)

    return call


@contextmanager
def _refused(package: ModuleType) -> Generator[None]:
    try:
        yield
    except (package.core.errors.NumbaError, KeyError, NotImplementedError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise NotCompiledError(
            next((line for line in lines[1:] if line.strip()), lines[0])
        ) from error


@cache
def _register(package: ModuleType, kind_of_functions: type[Any]) -> None:
    """Teach numba what functions of the host name: other such functions, and gridlane's types."""
    types, typeof = package.core.types, package.core.typing.typeof.typeof_impl

    def function(value: Any, context: Any) -> Any:
        return types.Dispatcher(value.dispatcher)

    def kind(value: ArgType, context: Any) -> Any:
        return types.NumberClass(_type(package, value))

    with suppress(ValueError):  # numba imports what it needs for an exception at the first one
        package.njit(_fails)()
    typeof.register(kind_of_functions)(function)
    typeof.register(ScalarType)(kind)
    typeof.register(ComplexType)(kind)


def _with_numbas(package: ModuleType, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose globals name numba and its prange, not gridlane's, which is range."""
    if not isinstance(function, FunctionType):
        return function
    toplevel = sys.modules.get("gridlane.cuda.numba_compat.toplevel")
    spaces = function.__globals__
    changed = {
        name: package if spaces[name] is toplevel else package.prange
        for name in function.__code__.co_names
        if name in spaces
        and (spaces[name] is toplevel or (name == "prange" and spaces[name] is range))
    }
    if not changed:
        return function
    function_type = FunctionType(
        function.__code__,
        {**spaces, **changed},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    return functools.update_wrapper(function_type, function)


def _fails() -> None:
    raise ValueError


def _options(package: ModuleType, options: dict[str, Any]) -> dict[str, Any]:
    """A decorator's options with numba's types (``locals=``). Files of numba's cache are those of
    programs without gridlane."""

    def numbas(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: numbas(each) for name, each in value.items()}
        return _type(package, value) if isinstance(value, ArgType) else value

    return {name: numbas(value) for name, value in options.items() if name != "cache"}


def _signature(package: ModuleType, declared: Any) -> Any:
    if isinstance(declared, str):
        return declared
    if isinstance(declared, Signature):
        args = [_type(package, each) for each in declared.args]
        return _type(package, declared.return_type)(*args) if declared.return_type else tuple(args)
    return tuple([_type(package, each) for each in declared])


def _type(package: ModuleType, kind: Any) -> Any:
    """numba's type for one of gridlane's."""
    types = package.core.types
    if isinstance(kind, ScalarType | ComplexType | NoneType):
        return getattr(types, _NAMES.get(str(kind), str(kind)))
    if isinstance(kind, ArrayType):
        return types.Array(_type(package, kind.element), kind.ndim, kind.layout)
    if isinstance(kind, TupleType) and not kind.fields:
        return types.Tuple([_type(package, each) for each in kind.items])
    if isinstance(kind, UnicodeType):
        return types.unicode_type
    raise NotCompiledError(f"numba has no type {kind}")
