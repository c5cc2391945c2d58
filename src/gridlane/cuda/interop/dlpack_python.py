"""The Python equivalent of ``_dlpack.c`` without a C compiler: export and read DLPack's capsules.

The structures are those of dlpack.h: a capsule "dltensor" has a DLManagedTensor, and one named
"dltensor_versioned" a DLManagedTensorVersioned. The functions for consumers (``dlpack_code.py``)
are machine code, as consumers may call them on any thread, without the GIL, with an exception
pending, and after the interpreter has ended.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from gridlane.core.forks import fork_waits
from gridlane.cuda.interop import dlpack_code

MOST_AXES = 64


class _Described(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Plain(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (
        ("tensor", _Described),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Described),
    )


_api = ctypes.pythonapi
_NAMES = {Plain: b"dltensor", Versioned: b"dltensor_versioned"}
_USED = {Plain: b"used_dltensor", Versioned: b"used_dltensor_versioned"}
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", _api)
)
_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", _api))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", _api)
)
_hold = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", _api))
for _names in (_NAMES, _USED):  # capsules point to these names, and may outlive the module
    _hold(_names)
_CAPSULE = type(_new(1, b"", None))
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_taking = threading.Lock()


def export(
    owner: Any,
    address: int,
    device: tuple[int, int],
    element: tuple[int, int],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    flags: int | None,
) -> Any:
    """A capsule over memory, which keeps ``owner`` alive until its consumer is done.

    Args:
        device: DLPack's (kind, number).
        element: DLPack's (code, bits) of the element type.
        strides: in elements.
        flags: of a versioned capsule; None for the older kind.
    """
    ndim = len(shape)
    if len(strides) != ndim or ndim > MOST_AXES:
        raise ValueError("not a shape and its strides")
    kind = Plain if flags is None else Versioned
    managed = kind()
    extents = (ctypes.c_int64 * (ndim + 1))(*shape)
    steps = (ctypes.c_int64 * (ndim + 1))(*strides)
    tensor = managed.tensor
    tensor.data = address
    tensor.device_type, tensor.device_id = device
    tensor.ndim = ndim
    tensor.code, tensor.bits, tensor.lanes = *element, 1
    tensor.shape = ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64))
    tensor.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
    if isinstance(managed, Versioned):
        managed.major, managed.flags = 1, flags
    code = dlpack_code.linked()
    managed.deleter = code.deleters[kind is Versioned]
    kept = (managed, extents, steps, owner)
    managed.context = id(kept)
    capsule = _new(ctypes.addressof(managed), _NAMES[kind], code.destroy)
    _hold(kept)
    return capsule


class Tensor:
    """A tensor taken from a DLPack capsule; its deleter is called at the end of its lifetime.

    Raises:
        BufferError: it is no unused DLPack capsule, or its axes are invalid.
    """

    _managed: Any = None

    def __init__(self, capsule: Any) -> None:
        with fork_waits(), _taking:
            managed = self._managed = _taken(capsule)
        self.versioned = isinstance(managed, Versioned)
        if isinstance(managed, Versioned) and managed.major != 1:
            raise BufferError(
                f"the DLPack capsule is of version {managed.major}.{managed.minor}, and 1 is read "
                "here; give __dlpack__ max_version=(1, 0)"
            )
        self.flags: int = managed.flags if isinstance(managed, Versioned) else 0
        tensor, ndim = managed.tensor, managed.tensor.ndim
        if not 0 <= ndim <= MOST_AXES:
            raise BufferError(f"the DLPack tensor has {ndim} axes; 0 to {MOST_AXES} are possible")
        if ndim and not tensor.shape:
            raise BufferError(f"the DLPack tensor has {ndim} axes and no shape")
        self.shape = tuple(tensor.shape[:ndim]) if ndim else ()
        self.strides = tuple(tensor.strides[:ndim]) if tensor.strides else None
        self.data = tensor.data or 0
        self.device_type, self.device_id = tensor.device_type, tensor.device_id
        self.code, self.bits, self.lanes = tensor.code, tensor.bits, tensor.lanes
        self.byte_offset = tensor.byte_offset
        self.ours = managed.deleter in dlpack_code.ours()

    def __del__(self, _deleter: Any = _DELETER, _address: Any = ctypes.addressof) -> None:
        managed, self._managed = self._managed, None
        if managed is not None and managed.deleter:
            _deleter(managed.deleter)(_address(managed))


def _taken(capsule: Any) -> Plain | Versioned:
    """Take the tensor out of a capsule, once."""
    if type(capsule) is not _CAPSULE:
        raise BufferError(
            f"__dlpack__ gave an object of type {type(capsule).__name__}, and not a capsule"
        )
    name = _name_of(capsule)
    if name is not None and name.startswith(_USED[Plain]):
        raise BufferError(
            "the DLPack capsule was consumed before; a capsule is for one consumer, so call "
            "__dlpack__ again"
        )
    for kind, known in _NAMES.items():
        if name == known:
            managed = kind.from_address(_pointer(capsule, known) or 0)
            _rename(capsule, _USED[kind])
            return managed
    shown = "NULL" if name is None else '"' + name.decode(errors="replace") + '"'
    raise BufferError(
        f'a capsule named {shown} is not DLPack\'s; those are named "dltensor" and '
        '"dltensor_versioned"'
    )
