"""A digest of everything that the IR of a function depends on, besides its argument types."""

from __future__ import annotations

import ast
import hashlib
import types
from typing import Any

import numpy as np

from gridlane.core import argtypes
from gridlane.core.options import KernelOptions
from gridlane.frontends.python import stubs
from gridlane.frontends.python.device_function import device_function_of
from gridlane.frontends.python.scope import captured_interface, lookup
from gridlane.frontends.python.source import FunctionSource, source_of

_STUBS = (stubs.Stub, stubs.ValueStub, stubs.Dim3Stub, stubs.Namespace)


def fingerprint(function: types.FunctionType, options: KernelOptions) -> bytes:
    """32 bytes that change when the function's source, its options, or a value that it takes from
    a closure or global changes, through the device functions that it calls."""
    digest = hashlib.sha256(repr(options).encode())
    _function(digest, function, set())
    return digest.digest()


def _function(digest: Any, function: types.FunctionType, seen: set[Any]) -> None:
    if function in seen:
        return
    seen.add(function)
    source = source_of(function)
    place = source.locate(source.node)
    digest.update(f"{place.file}:{place.line}:{place.column}:{source.name}\n".encode())
    digest.update(source.text.encode())
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        _value(digest, default, seen)
    for name in _outer_names(source, function):
        found, value = lookup(function, name)
        digest.update(name.encode() + b"=")
        if found:
            _value(digest, value, seen)
    for path, value in _attributes(source, function):
        digest.update(path.encode() + b"=")
        _value(digest, value, seen)


def _outer_names(source: FunctionSource, function: types.FunctionType) -> list[str]:
    """The names that the function takes from around it."""
    code = function.__code__
    local = {*code.co_varnames, *code.co_cellvars}
    names = {node.id for node in ast.walk(source.node) if isinstance(node, ast.Name)}
    return sorted(names - local)


def _attributes(source: FunctionSource, function: types.FunctionType) -> list[tuple[str, Any]]:
    """What the function reads from modules and classes: ``settings.SIZE``."""
    found: dict[str, Any] = {}
    for node in ast.walk(source.node):
        path, base = [], node
        while isinstance(base, ast.Attribute):
            path.append(base.attr)
            base = base.value
        if not path or not isinstance(base, ast.Name):
            continue
        known, value = lookup(function, base.id)
        if not known or not isinstance(value, types.ModuleType | type | stubs.Namespace):
            continue
        for name in reversed(path):
            value = getattr(value, name, None)
        found[".".join([base.id, *reversed(path)])] = value
    return sorted(found.items(), key=lambda item: item[0])


def _value(digest: Any, value: Any, seen: set[Any]) -> None:
    kind = type(value)
    digest.update(kind.__name__.encode() + b":")
    device = device_function_of(value)
    if device is not None:
        digest.update(repr((device.options, device.signatures)).encode())
        _function(digest, device.py_func, seen)
    elif isinstance(value, np.ndarray | np.generic):
        digest.update(f"{value.dtype.descr}{np.shape(value)}".encode() + value.tobytes())
    elif isinstance(value, tuple):
        for item in value:
            _value(digest, item, seen)
    elif isinstance(value, bool | int | float | complex | str | argtypes.ArgType | np.dtype):
        digest.update(repr(value).encode())
    elif isinstance(value, _STUBS):
        digest.update(value.name.encode())
    elif (interface := captured_interface(value)) is not None:
        digest.update(repr(sorted(interface.items(), key=str)).encode())
    else:
        module = getattr(value, "__module__", "")
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        digest.update(f"{module}.{name or repr(value)}".encode())
