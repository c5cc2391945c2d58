"""CUDA C++ of ``cuda/`` as PTX by NVRTC: ``python make_nvrtc.py OUT.json``, with NVIDIA's wheels.

For sm_80 and sm_90, and for sm_80 without optimisation, which keeps every variable in memory.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

import nvidia.cu13

HOME = Path(nvidia.cu13.__path__[0])
ctypes.CDLL(str(next((HOME / "lib").glob("libnvrtc-builtins.so.*"))))
LIBRARY = ctypes.CDLL(str(next((HOME / "lib").glob("libnvrtc.so.*"))))
INCLUDES = [HOME / "include", HOME / "include" / "cccl"]
VARIANTS = {
    "sm_80": ("-arch=compute_80",),
    "sm_90": ("-arch=compute_90",),
    "sm_80 -G": ("-arch=compute_80", "-G"),
}
NAMES = {
    "templates": (
        "reduced<float, 128, Sum>",
        "reduced<int, 64, Most>",
        "reduced<double, 32, Sum>",
        "bitonic<float, 128>",
        "bitonic<long long, 64>",
    )
}
"""The templates of a file, each with its parameters."""


def compiled(path: Path, variant: str) -> dict[str, object]:
    names = NAMES.get(path.stem, ())
    handle = ctypes.c_void_p()
    code, name = path.read_bytes(), path.name.encode()
    check(LIBRARY.nvrtcCreateProgram(ctypes.byref(handle), code, name, 0, None, None))
    for each in names:
        check(LIBRARY.nvrtcAddNameExpression(handle, each.encode()))
    options = [*VARIANTS[variant], "-std=c++17", *(f"-I{each}" for each in INCLUDES)]
    words = (ctypes.c_char_p * len(options))(*(each.encode() for each in options))
    status = LIBRARY.nvrtcCompileProgram(handle, len(options), words)
    if status:
        sys.exit(f"{path.name}: {text(handle, 'ProgramLog')}")
    return {
        "name": path.stem,
        "variant": variant,
        "ptx": text(handle, "PTX"),
        "meta": {"names": {each: lowered(handle, each) for each in names}},
    }


def text(handle: ctypes.c_void_p, what: str) -> str:
    size = ctypes.c_size_t()
    check(getattr(LIBRARY, f"nvrtcGet{what}Size")(handle, ctypes.byref(size)))
    made = ctypes.create_string_buffer(size.value)
    check(getattr(LIBRARY, f"nvrtcGet{what}")(handle, made))
    return made.value.decode()


def lowered(handle: ctypes.c_void_p, name: str) -> str:
    made = ctypes.c_char_p()
    check(LIBRARY.nvrtcGetLoweredName(handle, name.encode(), ctypes.byref(made)))
    return (made.value or b"").decode()


def check(status: int) -> None:
    if status:
        LIBRARY.nvrtcGetErrorString.restype = ctypes.c_char_p
        sys.exit(f"NVRTC: {LIBRARY.nvrtcGetErrorString(status).decode()}")


if __name__ == "__main__":
    files = sorted((Path(__file__).parent / "cuda").glob("*.cu"))
    made = [compiled(path, variant) for path in files for variant in VARIANTS]
    Path(sys.argv[1]).write_text(json.dumps(made))
