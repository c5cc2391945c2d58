"""The formats of code in ``gridlane compile`` and in artifacts."""

from __future__ import annotations

from typing import NamedTuple


class Format(NamedTuple):
    """A format of code.

    Attributes:
        name: as in ``Artifact.format`` and ``gridlane compile --target``.
        suffix: of its files; "": only drivers accept it.
        comment: the start of a comment in it; "": it is not text.
        to_read: ``compiler.text`` emits it; artifacts have other code.
    """

    name: str
    suffix: str
    comment: str = ""
    to_read: bool = False


IR = Format("ir", ".ir", "//", to_read=True)
LLVM = Format("llvm", ".ll", ";", to_read=True)
ASM = Format("asm", ".s", "#", to_read=True)
OBJECT = Format("object", "")
PTX = Format("ptx", ".ptx", "//")
CUBIN = Format("cubin", ".cubin")
SPIRV = Format("spirv", ".spv")
WGSL = Format("wgsl", ".wgsl", "//")
GLSL = Format("glsl", ".comp", "//")
MSL = Format("msl", ".metal", "//")

FORMATS = (IR, LLVM, ASM, PTX, CUBIN, SPIRV, WGSL, GLSL, MSL)
"""In the order in which lists show them; formats of other backends come last."""
