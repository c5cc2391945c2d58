"""Options of nvcc and NVRTC in clang's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gridlane.core.errors import CompileError
from gridlane.core.frozen import frozen

ARCH = 80
"""The generation that the PTX is for, unless the options say otherwise."""
_ARCH = re.compile(r"(?:compute|sm|lto)_(\d+[af]?)$")
_GENERATED = re.compile(r"arch=|,.*")
"""What -gencode has beside a generation."""
_WITH_VALUE = {
    "--std": "-std",
    "-std": "-std",
    "--gpu-architecture": "-arch",
    "-arch": "-arch",
    "--cuda-gpu-arch": "-arch",
    "--generate-code": "-gencode",
    "-gencode": "-gencode",
    "--define-macro": "-D",
    "-D": "-D",
    "--undefine-macro": "-U",
    "-U": "-U",
    "--include-path": "-I",
    "-I": "-I",
    "--pre-include": "-include",
    "-include": "-include",
    "--fmad": "-fmad",
    "-fmad": "-fmad",
    "--ftz": "-ftz",
    "-ftz": "-ftz",
    "--prec-div": "-prec-div",
    "-prec-div": "-prec-div",
    "--prec-sqrt": "-prec-sqrt",
    "-prec-sqrt": "-prec-sqrt",
    "--relocatable-device-code": "-rdc",
    "-rdc": "-rdc",
    "--maxrregcount": "",
    "-maxrregcount": "",
    "--optimization-level": "-O",
    **dict.fromkeys(
        (
            "-Xcompiler",
            "--compiler-options",
            "-Xptxas",
            "--ptxas-options",
            "-Xlinker",
            "--linker-options",
            "-Xnvlink",
            "-ccbin",
            "--compiler-bindir",
            "-code",
            "--gpu-code",
        ),
        "",
    ),
}
"""Options with a value, after ``=`` or a space, by what they mean; "": nothing for PTX."""
_FAST = "-ffast-math", "-fcuda-approx-transcendentals", "-fgpu-flush-denormals-to-zero"
_FLAGS: dict[str, tuple[str, ...]] = {
    "--use_fast_math": _FAST,
    "-use_fast_math": _FAST,
    "--generate-line-info": ("-gline-tables-only",),
    "-lineinfo": ("-gline-tables-only",),
    "--disable-warnings": ("-w",),
    "--expt-relaxed-constexpr": (),
    "-expt-relaxed-constexpr": (),
    "--expt-extended-lambda": (),
    "--extended-lambda": (),
    "-extended-lambda": (),
    **dict.fromkeys(("--device-c", "-dc"), ("-fgpu-rdc",)),
    **dict.fromkeys(("-m64", "-G"), ()),
}
"""Options without a value."""


@frozen
class ClangOptions:
    """The options of a compilation by clang.

    Attributes:
        arch: the generation, such as ``80``.
        words: the options in clang's spelling.
        folders: those of the options that name folders of headers, in order.
    """

    arch: str
    words: tuple[str, ...]
    folders: tuple[str, ...]

    @property
    def is_relocatable(self) -> bool:
        """Whether units share their device names, as by nvcc's ``-rdc=true``."""
        said = [each for each in self.words if each in ("-fgpu-rdc", "-fno-gpu-rdc")]
        return said[-1:] == ["-fgpu-rdc"]


def for_clang(options: Sequence[str]) -> ClangOptions:
    """The options of nvcc or NVRTC as clang's. Others are clang's own, and go to it as they are.

    Raises:
        CompileError: an option lacks its value, or has one that clang has not.

    >>> for_clang(["--std=c++20", "-arch", "compute_90", "-DN=4"])
    ClangOptions(arch='90', words=('-std=c++20', '-DN=4'), folders=())
    >>> for_clang(["-gencode", "arch=compute_86,code=sm_86", "-Xptxas", "-v"]).arch
    '86'
    """
    arch, translated_options, folders = str(ARCH), list[str](), list[str]()
    for name, value in _pairs(options):
        if name in ("-arch", "-gencode"):
            match = _ARCH.match(_GENERATED.sub("", value) if name == "-gencode" else value)
            if match is None:
                raise CompileError(f"{name}={value}: a generation, such as compute_80 or sm_90")
            arch = match[1]
        elif name == "-I":
            folders.append(value)
            translated_options.append(f"-I{value}")
        elif name == "-include":
            translated_options += [name, value]
        elif name in _SWITCHES:
            translated_options += _switch(name, value)
        elif name:
            translated_options.append(f"{name}{'=' if name == '-std' else ''}{value}")
    return ClangOptions(arch, tuple(translated_options), tuple(folders))


_SWITCHES = {
    "-fmad": {True: "-ffp-contract=fast", False: "-ffp-contract=off"},
    "-ftz": {True: "-fgpu-flush-denormals-to-zero", False: ""},
    "-prec-div": {True: "", False: ""},
    "-prec-sqrt": {True: "", False: ""},
    "-rdc": {True: "-fgpu-rdc", False: "-fno-gpu-rdc"},
}
"""Options whose value is true or false. Quotients and roots are exact, whatever is asked."""


def _switch(name: str, value: str) -> list[str]:
    if value not in ("true", "false"):
        raise CompileError(f"{name}={value}: true or false")
    word = _SWITCHES[name][value == "true"]
    return [word] if word else []


def _pairs(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each option by its meaning, with its value."""
    rest = iter(options)
    for option in rest:
        if option in _FLAGS:
            yield from ((word, "") for word in _FLAGS[option])
            continue
        name, equals, value = option.partition("=")
        if name in _WITH_VALUE and (equals or name == option):
            if not equals:
                value = next(rest, "")
                if not value:
                    raise CompileError(f"the option {option} lacks its value")
            yield _WITH_VALUE[name], value
        elif option[:2] in ("-I", "-D", "-U") and not option.startswith("--"):
            yield option[:2], option[2:]
        else:
            yield option, ""
