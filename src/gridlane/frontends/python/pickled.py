"""Kernels and functions as bytes for other processes: by name where these can import them, else as
source, types and options, with the values that they read.

What is sent is one pickle in a pickle, so that its digest tells kernels apart: a kernel that comes
a second time is the object of the first time, with all that is compiled.
"""

from __future__ import annotations

import io
import pickle
import sys
import threading
import types
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from typing import Any

from gridlane.frontends.python import stubs
from gridlane.frontends.python.function_text import MAINS, fill, function_of, read_of, text_of

_MOST_KEPT = 512
"""Kernels that a process keeps of those that came to it."""
_kept: OrderedDict[bytes, Any] = OrderedDict()
_lock = threading.RLock()
_STUBS = (stubs.Stub, stubs.ValueStub, stubs.Dim3Stub, stubs.Namespace)


def object_named(module: str, path: str) -> Any:
    """The object with a qualified name in a loaded module, or None."""
    item: Any = sys.modules.get(module)
    for part in path.split("."):
        item = getattr(item, part, None)
    return item


def imported(module: str, path: str) -> Any:
    """The object, in a process that may not have loaded the module."""
    import_module(module)
    return object_named(module, path)


def has_name(item: Any, module: str | None, name: str) -> bool:
    """Whether other processes can import an object by its name: a program's own module is another
    one in each, and programs may want modules to be sent (cloudpickle.register_pickle_by_value)."""
    if module is None or module in MAINS or object_named(module, name) is not item:
        return False
    engine = sys.modules.get("cloudpickle")
    by_value = () if engine is None else engine.list_registry_pickle_by_value()
    parts = module.split(".")
    return not any(".".join(parts[:n]) in by_value for n in range(1, len(parts) + 1))


def reduced(item: Any, module: str, name: str) -> tuple[Any, ...]:
    """``__reduce__`` of a kernel; ``item.__gridlane_parts__()`` is what it is made of, in the form
    of ``__reduce__``.

    Raises:
        PicklingError: other processes cannot have what it reads.
    """
    if has_name(item, module, name):
        return imported, (module, name)
    return landed, (packed(item, name), module, name)


def landed(data: bytes, module: str, name: str) -> Any:
    """The kernel of some bytes. It is the process's own of the name if that is the same."""
    key = sha256(data).digest()
    with _lock:
        known = _kept.get(key)
        if known is not None:
            _kept.move_to_end(key)
            return known
    item = _own(data, module, name)
    if item is None:
        item = pickle.loads(data)
    if not getattr(item, "__gridlane_has_state__", False):
        with _lock:
            item = _kept.setdefault(key, item)
            while len(_kept) > _MOST_KEPT:
                _kept.popitem(last=False)
    return item


def _own(data: bytes, module: str, name: str) -> Any:
    """The object of a name in this process if it is the one that was sent, as in a forked one."""
    for each in MAINS if module in MAINS else (module,):
        item = object_named(each, name)
        if hasattr(type(item), "__gridlane_parts__"):
            try:
                if packed(item, name) == data:
                    return item
            except pickle.PicklingError:
                continue
    return None


def packed(item: Any, name: str) -> bytes:
    """The bytes of a kernel.

    Raises:
        PicklingError: other processes cannot have what it reads.
    """
    try:
        return _dumped(item)
    except Exception as error:
        where = _culprit(item)
        raise pickle.PicklingError(f"{name} cannot be pickled: {where or error}") from error


def _culprit(item: Any) -> str:
    """What a kernel reads that cannot be pickled."""
    function = getattr(item, "py_func", None) or getattr(item, "fn", None)
    function = item.function if function is None and hasattr(item, "function") else function
    if not isinstance(function, types.FunctionType):
        return ""
    try:
        values = read_of(function)
    except Exception:  # it has no source, which the first error says
        return ""
    for name, value in values.items():
        try:
            _dumped(value)
        except Exception as error:
            return f"it reads {name}, of type {type(value).__name__}: {error}"
    return ""


def _dumped(item: Any) -> bytes:
    target = io.BytesIO()
    _pickler()(target, pickle.HIGHEST_PROTOCOL).dump(item)
    return target.getvalue()


def _pickler() -> Callable[..., Any]:
    """The class of picklers, over that of cloudpickle, which sends classes, if there is one."""
    global _class
    if _class is None:
        try:
            from cloudpickle import Pickler as Base  # pyright: ignore[reportMissingImports]
        except ImportError:
            Base = pickle.Pickler
        _class = type("KernelPickler", (Base,), {"reducer_override": _override, "_base": Base})
    return _class


_class: Callable[..., Any] | None = None


def _override(self: Any, item: Any) -> Any:
    """``reducer_override`` of the pickler."""
    if isinstance(item, types.FunctionType):
        if has_name(item, item.__module__, item.__qualname__):
            return NotImplemented
        return function_parts(item)
    if isinstance(item, types.ModuleType):
        return _module(item)
    if isinstance(item, _STUBS):
        return stub_named, (_name_of(item),)
    if not isinstance(item, type):
        if hasattr(item, "__cuda_array_interface__"):
            raise pickle.PicklingError(
                "device memory is that of one process; pass the array as an argument"
            )
        if hasattr(type(item), "__gridlane_parts__"):
            module, name = item.__gridlane_name__()
            if has_name(item, module, name):
                return imported, (module, name)
            return item.__gridlane_parts__()
    override = getattr(self._base, "reducer_override", None)
    return NotImplemented if override is None else override(self, item)


def function_parts(function: types.FunctionType) -> tuple[Any, ...]:
    """A Python function, in the form of ``__reduce__``."""
    made = function_of, (text_of(function), function.__defaults__, function.__kwdefaults__)
    return *made, read_of(function), None, None, fill


def _module(module: types.ModuleType) -> tuple[Any, ...]:
    if module.__name__ in MAINS or sys.modules.get(module.__name__) is not module:
        raise pickle.PicklingError(f"the module {module.__name__} cannot be imported elsewhere")
    return import_module, (module.__name__,)


def _name_of(stub: Any) -> str:
    """The name by which another process finds a stub."""
    name = stub.name.removeprefix("cuda.")
    if _stub(name) is not stub:
        raise pickle.PicklingError(f"{stub!r} has no name that other processes know")
    return name


def _stub(name: str) -> Any:
    item: Any = stubs
    for part in name.split("."):
        item = getattr(item, part, None)
    return item


def stub_named(name: str) -> Any:
    """What kernels name, as ``atomic.add``."""
    return _stub(name)
