"""References to textures and surfaces: variables of a module that hold an object's handle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.texture.descriptors import ResourceDescriptor
from gridlane.cuda.texture.objects import DeviceObject, TextureObject
from gridlane.launch import current
from gridlane.textures.sampling import TextureDescriptor


class Reference:
    """A ``texture<…>`` or ``surface<…>`` of CUDA C++, a ``.texref`` or ``.surfref`` of PTX.

    Args:
        name: of the variable.
        memory: returns its bytes on the current device.
    """

    def __init__(self, name: str, memory: Callable[[], DeviceNDArray]) -> None:
        self.name, self._memory = name, memory
        self._bound: dict[Any, DeviceObject | None] = {}

    def bind(self, object_: DeviceObject | None) -> None:
        """Bind an object, which is kept alive, for kernels that are launched later on the current
        device; None unbinds.

        Raises:
            ArgumentError: it is no object, or of another device.
        """
        if object_ is not None and not isinstance(object_, DeviceObject):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"{self.name} is bound to a TextureObject or SurfaceObject, not to an object of "
                f"type {type(object_).__name__}"
            )
        handle, device = 0 if object_ is None else object_.ptr, current.device()
        self._memory().view(np.uint64).copy_to_device(np.array([handle], np.uint64))
        device.default_stream.synchronize()  # before launches on any other stream
        self._bound[device] = object_


class TextureReference:
    """A reference bound to a texture, with CuPy's arguments.

    Args:
        texref: of ``RawModule.get_texref``.
        ResDesc: the memory.
        TexDesc: how it is read.

    Raises:
        ArgumentError: the memory cannot be read so.
    """

    def __init__(
        self, texref: Reference, ResDesc: ResourceDescriptor, TexDesc: TextureDescriptor
    ) -> None:
        self.texref, self.ResDesc, self.TexDesc = texref, ResDesc, TexDesc
        texref.bind(TextureObject(ResDesc, TexDesc))
