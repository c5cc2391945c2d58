"""A plugin of pytest for CCCL's tests of ``cuda.compute`` and ``cuda.coop``: what they use besides.

``cuda.core`` and ``cupy`` are stand-ins over gridlane's arrays, of as much as the tests call.
``cuda.compute``'s own modules that tests patch to look at machine code are empty.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np

import gridlane.algorithms
from gridlane import cuda
from gridlane.algorithms.coop import parameters
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.launch import current

# --- cuda.core ---


class Stream:
    """A stream of the current device."""

    def __init__(self, device: Device, stream: Any) -> None:
        self.device, self.own = device, stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.own.handle if self.own else 0

    def sync(self) -> None:
        if self.own:
            self.own.synchronize()
        else:
            cuda.synchronize()

    def close(self) -> None:
        """Close it."""


class Device:
    """The current device."""

    device_id = 0
    compute_capability = (8, 0)

    def set_current(self) -> None:
        """It is."""

    @property
    def default_stream(self) -> Stream:
        return Stream(self, None)

    def create_stream(self) -> Stream:
        return Stream(self, cuda.stream())

    def allocate(self, size: int, stream: Any = None) -> Buffer:
        octets = cuda.device_array(max(size, 1), np.uint8)
        return Buffer(octets.device_pointer, size, octets)

    def sync(self) -> None:
        cuda.synchronize()


class Program:
    """NVRTC's compiler, which no test of an algorithm needs."""

    def __init__(self, *args: Any, **named: Any) -> None:
        raise NotImplementedError("no Program in this stand-in: it makes LTO-IR by NVRTC")


class Buffer:
    """Bytes of a device, or of the host."""

    def __init__(self, handle: int, size: int, owner: Any) -> None:
        self.handle, self.size, self.owner = handle, size, owner

    @classmethod
    def from_handle(cls, ptr: int, size: int, owner: Any) -> Buffer:
        return cls(ptr, size, owner)

    def copy_from(self, other: Buffer, *, stream: Any) -> None:
        if self.size:
            host = np.frombuffer(other.owner.tobytes(order="A"), np.uint8)
            self.owner[: self.size].copy_to_device(host)

    def copy_to(self, other: Buffer, *, stream: Any) -> None:
        if self.size:
            host = self.owner[: self.size].copy_to_host()
            place = other.owner.reshape(-1, order="A")
            place[...] = host.view(place.dtype)


# --- cupy ---


class Ndarray:
    """A device array with the operators of a numpy array."""

    def __init__(self, device_array: Any) -> None:
        self.own = device_array

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "dtype", "size", "ndim", "nbytes", "strides"):
            return getattr(self.own, name)
        if name == "__cuda_array_interface__":
            return self.own.__cuda_array_interface__
        host = self.get()
        value = getattr(host, name)
        return value if not callable(value) else lambda *a, **k: _put(value(*map(_got, a), **k))

    def get(self) -> np.ndarray:
        return self.own.copy_to_host()

    def set(self, host: np.ndarray) -> None:
        self.own.copy_to_device(host)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.get() if dtype is None else self.get().astype(dtype)

    def __len__(self) -> int:
        return len(self.own)

    def __getitem__(self, key: Any) -> Any:
        plain = isinstance(key, slice) and self.own.ndim == 1 and key.step in (None, 1)
        return Ndarray(self.own[key]) if plain else _put(self.get()[_got(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        host = self.get()
        host[_got(key)] = _got(value)
        self.own.copy_to_device(host)

    def __iter__(self) -> Any:
        return map(_put, self.get())

    def __int__(self) -> int:
        return int(self.get())

    def __float__(self) -> float:
        return float(self.get())

    def __bool__(self) -> bool:
        return bool(self.get())


def _operator(name: str) -> Any:
    def call(self: Ndarray, *others: Any) -> Any:
        return _put(getattr(np.asarray(self.get()), name)(*map(_got, others)))

    return call


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    for _form in (f"__{_name}__", f"__r{_name}__"):
        setattr(Ndarray, _form, _operator(_form))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "abs", "invert"):
    setattr(Ndarray, f"__{_name}__", _operator(f"__{_name}__"))


def _put(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return Ndarray(cuda.to_device(np.asarray(value)))
    return value


def _got(value: Any) -> Any:
    return value.get() if isinstance(value, Ndarray) else value


class _Cupy(ModuleType):
    """numpy's functions, whose arrays are on the device."""

    ndarray = Ndarray

    def __init__(self, name: str, below: Any = np) -> None:
        super().__init__(name)
        self.__dict__["_below"] = below
        self.__spec__ = ModuleSpec(name, None, is_package=True)
        self.__path__ = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self.__dict__["_below"], name)
        if isinstance(value, ModuleType):
            return _Cupy(f"{self.__name__}.{name}", value)
        if isinstance(value, type) or not callable(value):
            return value
        if self.__name__.endswith("testing"):
            return lambda *a, **k: value(*map(_got, a), **k)
        return lambda *a, **k: _put(value(*map(_got, a), **{n: _got(v) for n, v in k.items()}))

    def asnumpy(self, value: Any) -> Any:
        return np.asarray(_got(value))


# --- cuda.compute's own modules ---


class TempStorageBuffer:
    """Temporary memory."""

    def __init__(self, size: int, stream: Any = None) -> None:
        self.own = cuda.device_array(size, np.uint8)

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.own.__cuda_array_interface__


class Private:
    """A private name of ``cuda.compute``, which raises where it is used."""

    def __init__(self, name: str) -> None:
        self._own_name = name

    def __call__(self, *args: Any, **named: Any) -> Any:
        raise NotImplementedError(f"{self._own_name} is a private name of cuda.compute")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Private(f"{self._own_name}.{name}")


class _Privates(ModuleType):
    """A module of private names."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Private(f"{self.__name__}.{name}")


class PrivateFinder:
    """Finds the private modules of ``cuda.compute``."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """A module of private names; ``_build_info`` is that of one of its builds only."""
        if not fullname.startswith("cuda.compute._") or fullname.endswith("_build_info"):
            return None
        return ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module."""
        return _Privates(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """It has no code."""


def _module(name: str, **names: Any) -> ModuleType:
    made = ModuleType(name)
    made.__dict__.update(names)
    made.__path__ = []
    sys.modules[name] = made
    parent, _, last = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], last, made)
    return made


class DeviceArray:
    """Arrays of a device whose memory has no addresses that CUDA's interface could show."""

    @staticmethod
    def from_numpy(array: np.ndarray, **named: Any) -> Any:
        return cuda.to_device(array)

    @staticmethod
    def empty(shape: Any, dtype: Any, **named: Any) -> Any:
        return cuda.device_array(shape, dtype)


def install() -> None:
    """Put the stand-ins where imports find them."""
    if current.device().name not in ("cpu", "cuda"):
        _module("_utils.device_array", DeviceArray=DeviceArray)
    import cuda as nvidia  # pyright: ignore  # gridlane's finder makes it

    sys.meta_path.insert(0, PrivateFinder())
    sys.modules["cuda.compute"] = gridlane.algorithms
    nvidia.compute = gridlane.algorithms  # pyright: ignore
    _module(
        "cuda.core", Device=Device, Stream=Stream, Buffer=Buffer, Program=Program,
        ProgramOptions=dict,
    )  # fmt: skip
    nvidia.core = sys.modules["cuda.core"]  # pyright: ignore
    _module("cuda.core.system", get_num_devices=lambda: 1)
    _module("cuda.compute._cccl_interop", _check_sass=False)
    _module("cuda.compute._utils")
    _module("cuda.compute._utils.temp_storage_buffer", TempStorageBuffer=TempStorageBuffer)
    sys.modules["cupy"] = _Cupy("cupy")
    parameters.CudaSharedMemConfig = Private("CudaSharedMemConfig")  # type: ignore[attr-defined]
    # The tests look for accesses of local memory in machine code, and gridlane shows none.
    Dispatcher.inspect_sass = lambda self, signature=None: ""


install()
