"""Tensors of another library, made by hand, with every field of their capsules to choose."""

from __future__ import annotations

import ctypes

from gridlane.core.dlpack_abi import CPU
from gridlane.cuda.interop.dlpack_python import Plain, Versioned

_api = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", _api)
)
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
CODES = {"i": 0, "u": 1, "f": 2, "V": 4, "c": 5, "b": 6}


class Tensor:
    """An object with ``__dlpack__`` over a numpy array's memory.

    ``deleted`` counts calls of deleters. ``changes`` are fields of the tensor, and ``major``,
    ``name``, ``flags``, ``deleter`` of its capsule.
    """

    def __init__(self, array, place=(CPU, 0), versioned=True, work=None, **changes):
        self.array, self.place, self.versioned = array, place, versioned
        self.changes, self.work, self.deleted, self.alive = changes, work, 0, {}
        self.asked = []
        self._deleter = _DELETER(self._delete)

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, **asked):
        self.asked.append(asked)
        return self.capsule()

    def capsule(self):
        array, changes = self.array, dict(self.changes)
        kind = Versioned if self.versioned else Plain
        managed = kind()
        name = changes.pop("name", b"dltensor_versioned" if self.versioned else b"dltensor")
        managed.deleter = changes.pop("deleter", ctypes.cast(self._deleter, ctypes.c_void_p).value)
        if self.versioned:
            managed.major = changes.pop("major", 1)
            managed.flags = changes.pop("flags", 0)
        shape = (ctypes.c_int64 * (array.ndim + 1))(*changes.pop("shape", array.shape))
        steps = [stride // array.itemsize for stride in array.strides]
        strides = (ctypes.c_int64 * (array.ndim + 1))(*changes.pop("strides", steps))
        pointer = ctypes.POINTER(ctypes.c_int64)
        tensor = managed.tensor
        tensor.data = array.ctypes.data
        tensor.device_type, tensor.device_id = self.place
        tensor.ndim, tensor.lanes = array.ndim, 1
        tensor.code, tensor.bits = CODES[array.dtype.kind], 8 * array.itemsize
        tensor.shape, tensor.strides = ctypes.cast(shape, pointer), ctypes.cast(strides, pointer)
        for field, value in changes.items():
            setattr(tensor, field, value)
        address = ctypes.addressof(managed)
        self.alive[address] = managed, shape, strides, name, array
        return _new(address, name, None)

    def _delete(self, address):
        del self.alive[address]
        self.deleted += 1
        if self.work is not None:
            self.work()
