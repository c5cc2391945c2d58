"""Fatbins made here, and by nvcc where it is installed."""

from __future__ import annotations

import shutil
import struct
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

NVCC = shutil.which("nvcc")
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="nvcc is not installed")

LZ4, ZSTD, EXACT, FAMILY = 0x2000, 0x8000, 0x100000, 0x200000
PTX, MACHINE = 1, 2


def region(*images: bytes) -> bytes:
    """A fatbin of images."""
    whole = b"".join(images)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(whole)) + whole


def image(content, arch=80, kind=PTX, flags=0x11, size=None, name=b""):
    """An image; ``size`` is what it claims to unpack to."""
    padded = content + bytes(-len(content) % 8)
    packed = len(content) if flags & (LZ4 | ZSTD) else 0
    held = name + bytes(-len(name) % 8)
    head = struct.pack(
        "<HHIQIIHHIIIQQQ",
        *(kind, 0x101, 64 + len(held), len(padded), packed, 0, 0, 9, arch),
        *(64 if name else 0, len(name), flags, 0, size or 0),
    )
    return head + held + padded


def text(arch="80", value=7, kernel="answer", target="sm_") -> bytes:
    """PTX whose kernel stores a number."""
    return f"""
.version 8.0
.target {target}{arch}
.address_size 64
.visible .entry {kernel}(.param .u64 x) {{
    .reg .b32 %r<2>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, {value};
    st.global.u32 [%rd1], %r1;
    ret;
}}
""".encode()


@cache
def built(source: str, *options: str) -> bytes:
    """What nvcc makes of CUDA C++."""
    assert NVCC is not None
    with TemporaryDirectory() as folder:
        code, made = Path(folder, "code.cu"), Path(folder, "code.fatbin")
        code.write_text(source)
        command = [NVCC, "-fatbin", *options, str(code), "-o", str(made)]
        subprocess.run(command, check=True, timeout=300, capture_output=True)
        return made.read_bytes()
