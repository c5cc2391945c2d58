"""Write src/gridlane/cuda/__init__.pyi, the types of ``gridlane.cuda`` for checkers and editors.

    python scripts/stubs.py

A build writes it (setup.py), with Python alone. The package loads its names when they are used, so
a type checker sees none of them. The file imports the host's names from where
``gridlane/cuda/names.py`` says that they live, with the types that they have there, and declares
what kernels call: names, parameters and texts are those of ``gridlane/frontends/python/stubs.py``,
types come from the tables below.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gridlane.cuda.names import MODULES, SUBMODULES
from gridlane.frontends.python.stubs import (
    NAMESPACE,
    Dim3Stub,
    Namespace,
    Stub,
    ValueStub,
)

PACKAGE = "gridlane.cuda"
TARGET = Path(__file__).parents[1] / "src/gridlane/cuda/__init__.pyi"

HEADER = '''"""The types of gridlane.cuda; made by scripts/cuda_stub.py, not by hand."""

# pyright: reportOverlappingOverload=false
# A dtype of unknown type may be that of numbers or of records.

from collections.abc import Iterator
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypeVar, overload

import numpy as np

from gridlane.core.argtypes import ComplexType, ScalarType
'''

# What kernels have that no module of the host does.
CLASSES = '''
_T = TypeVar("_T")
_Real = SupportsFloat | SupportsIndex
_Index = SupportsIndex | tuple[SupportsIndex, ...]
_Shape = int | tuple[int, ...]
_Number = ScalarType | ComplexType | type[np.generic] | type[complex]

class _Dim3:
    """Three values along the axes."""

    @property
    def x(self) -> int: ...
    @property
    def y(self) -> int: ...
    @property
    def z(self) -> int: ...

class _KernelArray:
    """An array that a kernel makes, by what kernels can do with it."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    ndim: int
    size: int
    itemsize: int
    nbytes: int
    ctypes: Any
    dtype: Any
    ctypes: Any
    @property
    def T(self) -> _KernelArray: ...
    @property
    def real(self) -> _KernelArray: ...
    @property
    def imag(self) -> _KernelArray: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def view(self, dtype: Any) -> _KernelArray: ...
    def reshape(self, *shape: Any) -> _KernelArray: ...
    def ravel(self) -> _KernelArray: ...
    def transpose(self) -> _KernelArray: ...
    def copy(self) -> _KernelArray: ...
    def item(self) -> Any: ...
    def fill(self, value: Any) -> None: ...
    def sum(self) -> Any: ...
    def prod(self) -> Any: ...
    def min(self) -> Any: ...
    def max(self) -> Any: ...
    def mean(self) -> Any: ...
    def var(self) -> Any: ...
    def std(self) -> Any: ...
    def all(self) -> bool: ...
    def any(self) -> bool: ...
    def argmin(self) -> int: ...
    def argmax(self) -> int: ...

class _RecordArray(_KernelArray):
    """The same of records, whose fields are attributes."""

    def __getattr__(self, name: str) -> Any: ...

class _Fragment:
    """A matrix that the lanes of a warp hold together."""
'''

# The type of a parameter: by "stub(parameter)", by "group.*(parameter)", else by its name.
PARAMETERS = {
    "cuda.shared.array(dtype)": "Any",
    "cuda.selp(a)": "_T",
    "cuda.selp(b)": "_T",
    "cuda.wmma.*(shape)": "tuple[int, int]",
    "cuda.wmma.*(value)": "_Real",
    "cuda.wmma.*(a)": "_Fragment",
    "cuda.wmma.*(b)": "_Fragment",
    "cuda.wmma.*(c)": "_Fragment",
    "cuda.shfl_sync(value)": "_T",
    "cuda.shfl_up_sync(value)": "_T",
    "cuda.shfl_down_sync(value)": "_T",
    "cuda.shfl_xor_sync(value)": "_T",
    "cuda.popc(x)": "SupportsIndex",
    "cuda.brev(x)": "SupportsIndex",
    "cuda.clz(x)": "SupportsIndex",
    "cuda.ffs(x)": "SupportsIndex",
    **dict.fromkeys(("x", "a", "b", "c", "factor"), "_Real"),
    **dict.fromkeys(("mask", "ns", "mode", "clamp", "mode_offset"), "SupportsIndex"),
    **dict.fromkeys(("src_lane", "delta", "lane_mask"), "SupportsIndex"),
    **dict.fromkeys(("count", "pending"), "int"),
    **dict.fromkeys(("idx", "target_index", "source_index", "position"), "_Index"),
    **dict.fromkeys(("ary", "array", "ndarray", "target", "source"), "Any"),
    **dict.fromkeys(("val", "old", "value", "predicate", "condition", "dtype"), "Any"),
    "ndim": "int",
    "shape": "_Shape",
    "alignment": "int | None",
    "layout": 'Literal["row", "col"]',
    "precision": "Any",
    "fragment": "_Fragment",
}

# The type of a result: by stub, by "group.*". A tuple has an overload for each pair of what
# replaces types of parameters, and the result then.
RESULTS: dict[str, Any] = {
    **dict.fromkeys(
        ("cuda.grid", "cuda.gridsize"),
        (
            ({"ndim": "Literal[1]"}, "int"),
            ({"ndim": "Literal[2]"}, "tuple[int, int]"),
            ({"ndim": "Literal[3]"}, "tuple[int, int, int]"),
        ),
    ),
    **dict.fromkeys(
        ("cuda.shared.array", "cuda.local.array"),
        (({"dtype": "_Number"}, "_KernelArray"), ({}, "_RecordArray")),
    ),
    "cuda.const.array_like": "_RecordArray",
    **dict.fromkeys(("cuda.async_copy", "cuda.async_commit", "cuda.async_wait"), "None"),
    **dict.fromkeys(("cuda.syncthreads", "cuda.syncwarp", "cuda.nanosleep"), "None"),
    **dict.fromkeys(
        ("cuda.threadfence", "cuda.threadfence_block", "cuda.threadfence_system"), "None"
    ),
    **dict.fromkeys(
        ("cuda.syncthreads_count", "cuda.syncthreads_and", "cuda.syncthreads_or"), "int"
    ),
    **dict.fromkeys(("cuda.shfl_sync", "cuda.shfl_up_sync"), "_T"),
    **dict.fromkeys(("cuda.shfl_down_sync", "cuda.shfl_xor_sync"), "_T"),
    **dict.fromkeys(("cuda.all_sync", "cuda.any_sync", "cuda.eq_sync"), "bool"),
    **dict.fromkeys(("cuda.ballot_sync", "cuda.match_any_sync"), "int"),
    "cuda.vote_sync_intrinsic": "tuple[int, bool]",
    "cuda.shfl_sync_intrinsic": "tuple[Any, bool]",
    "cuda.match_all_sync": "tuple[int, bool]",
    **dict.fromkeys(("cuda.activemask", "cuda.lanemask_lt"), "int"),
    "cuda.wmma.*": "_Fragment",
    "cuda.wmma.store": "None",
    **dict.fromkeys(("cuda.popc", "cuda.brev", "cuda.clz", "cuda.ffs"), "int"),
    **dict.fromkeys(("cuda.fma", "cuda.cbrt"), "float"),
    "cuda.selp": "_T",
    "cuda.atomic.*": "Any",
    "cuda.fp16.*": "Any",
    **dict.fromkeys(("cuda.ldca", "cuda.ldcg", "cuda.ldcs", "cuda.ldlu", "cuda.ldcv"), "Any"),
    **dict.fromkeys(("cuda.stcg", "cuda.stcs", "cuda.stwb", "cuda.stwt"), "None"),
}


def text() -> str:
    """The whole file."""
    groups = [_group(item) for item in NAMESPACE.values() if isinstance(item, Namespace)]
    names = [_declared(name, item) for name, item in NAMESPACE.items()]
    names += [
        f"{name} = _{name}" for name, module in SUBMODULES.items() if not _keeps(name, module)
    ]
    public = sorted({*MODULES, *NAMESPACE})
    parts = [HEADER, *_imports(), CLASSES, *groups, *names, f"__all__ = {public!r}"]
    return "\n".join(parts) + "\n"


def _imports() -> Iterator[str]:
    """The host's names, each from its module."""
    for name, (module, original) in MODULES.items():
        yield f"from {PACKAGE}.{module} import {original} as {name}"
    for name, module in SUBMODULES.items():
        room, _, last = module.rpartition(".")
        own = name if _keeps(name, module) else f"_{name}"
        yield f"from {PACKAGE}{'.' * bool(room)}{room} import {last} as {own}"


def _keeps(name: str, module: str) -> bool:
    """Whether a module keeps its name: only such an import hands the name on to users."""
    return module.rpartition(".")[2] == name


def _declared(name: str, item: Any) -> str:
    if isinstance(item, Stub):
        return _function(item)
    if isinstance(item, Namespace):
        return f"{name}: {_class_name(item)}\n{_docstring(item.__doc__)}"
    if isinstance(item, Dim3Stub):
        return f"{name}: _Dim3\n{_docstring(item.__doc__)}"
    if isinstance(item, ValueStub):
        return f"{name}: int\n{_docstring(item.__doc__)}"
    raise TypeError(f"{name} is a {type(item).__name__}, which scripts/cuda_stub.py does not know")


def _class_name(group: Namespace) -> str:
    return f"_{group.__name__.capitalize()}"


def _group(group: Namespace) -> str:
    members = {name: item for name, item in vars(group).items() if isinstance(item, Stub)}
    return _class(_class_name(group), group.__doc__ or "", members)


def _class(name: str, doc: str, members: dict[str, Stub]) -> str:
    methods = [textwrap.indent(_function(stub, "self"), "    ") for stub in members.values()]
    return "\n".join([f"class {name}:", textwrap.indent(_docstring(doc), "    "), *methods])


def _function(stub: Stub, *first: str) -> str:
    """A declaration, or overloads of one."""
    result = _looked_up(RESULTS, stub.name)
    if isinstance(result, str):
        return _signature(stub, first, {}, result)
    each = [_signature(stub, first, types, one) for types, one in result]
    return "\n".join(f"@overload\n{one}" for one in each)


def _signature(stub: Stub, first: tuple[str, ...], types: dict[str, str], result: str) -> str:
    listed = list(first)
    for part in filter(None, map(str.strip, stub.params.split(","))):
        name = part.rstrip("=")
        type_ = types.get(name) or _looked_up(PARAMETERS, stub.name, name)
        listed.append(f"{name}: {type_}" + (" = ..." if part.endswith("=") else ""))
    doc = textwrap.indent(_docstring((stub.__doc__ or "").partition("\n\n")[2]), "    ")
    return f"def {stub.__name__}({', '.join(listed)}) -> {result}:\n{doc}"


def _looked_up(table: dict[str, Any], stub: str, parameter: str = "") -> Any:
    """What a table has for a stub, or one of its parameters."""
    inner = f"({parameter})" if parameter else ""
    group = stub.rpartition(".")[0]
    for key in (f"{stub}{inner}", f"{group}.*{inner}", parameter):
        if key in table:
            return table[key]
    what = f"the parameter {parameter} of {stub}" if parameter else f"the result of {stub}"
    raise SystemExit(f"{what} has no type; add it to the tables of scripts/cuda_stub.py")


def _docstring(doc: str | None) -> str:
    lines = textwrap.wrap(" ".join((doc or "").split()), 88)
    return '"""' + "\n".join(lines) + ('\n"""' if len(lines) > 1 else '"""')
