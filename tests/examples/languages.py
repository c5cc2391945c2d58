"""A program: runs an example on a device of this machine, then makes its kernels for the targets of
shading languages, and says of each how long the text is or why there is none."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from gridlane import compiler, cuda
from gridlane.core.errors import TargetError
from gridlane.core.options import Target
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.cuda.kernels.sources import with_source

TARGETS = ("vulkan", "webgpu", "opengl", "metal")
BLOCK = (16, 16, 1)
"""Of WGSL and GLSL, which have it in their text."""


def loaded(path: Path) -> ModuleType:
    """The example as a module."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    path = Path(sys.argv[1])
    sys.argv = [str(path), *sys.argv[2:]]
    sys.path.insert(0, str(path.parent))
    cuda.install_as_numba()
    example = loaded(path)
    example.main()
    for kernel in vars(example).values():
        if not isinstance(kernel, Dispatcher) or kernel.is_device_function:
            continue
        for types in kernel.overloads:
            module = compiler.translate(with_source(kernel.py_func), types, kernel.options)
            for target in TARGETS:
                try:
                    made = compiler.generate(module, Target(target, BLOCK), kernel.options)
                    print("made", target, kernel.__name__, len(made.code))
                except TargetError as error:
                    print("refused", target, kernel.__name__, error.message)


if __name__ == "__main__":
    main()
