"""The options of NVRTC, as gridlane's compilers of CUDA C++ take them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gridlane.abi.failure import fail

INVALID_OPTION = 5
"""NVRTC's number of the error."""

ARCHS = (75, 80, 86, 87, 89, 90, 100, 120)
"""The architectures that PTX is made for: those of NVRTC 13 that clang 20 knows as well."""

_ARCH = re.compile(r"(compute|sm)_(\d+)([af]?)")

_LONG = {
    "-arch": "--gpu-architecture",
    "-D": "--define-macro",
    "-U": "--undefine-macro",
    "-I": "--include-path",
    "-include": "--pre-include",
    "-std": "--std",
    "-fmad": "--fmad",
    "-ftz": "--ftz",
    "-prec-div": "--prec-div",
    "-prec-sqrt": "--prec-sqrt",
    "-maxrregcount": "--maxrregcount",
    "-rdc": "--relocatable-device-code",
    "-Xptxas": "--ptxas-options",
    "-diag-error": "--diag-error",
    "-diag-suppress": "--diag-suppress",
    "-diag-warn": "--diag-warn",
    "-split-compile": "--split-compile",
    "-jtd": "--jump-table-density",
    "-frandom-seed": "--frandom-seed",
    "-pch-dir": "--pch-dir",
    "-use_fast_math": "--use_fast_math",
    "-lineinfo": "--generate-line-info",
    "-G": "--device-debug",
    "-w": "--disable-warnings",
    "-dopt": "--dopt",
    "-restrict": "--restrict",
    "-ewp": "--extensible-whole-program",
    "-extra-device-vectorization": "--extra-device-vectorization",
    "-device-int128": "--device-int128",
    "-device-float128": "--device-float128",
    "-no-source-include": "--no-source-include",
    "-err-no": "--display-error-number",
    "-no-err-no": "--no-display-error-number",
    "-pch": "--pch",
    "-minimal": "--minimal",
    "-no-cache": "--no-cache",
    "-default-device": "--device-as-default-execution-space",
    "-dlto": "--dlink-time-opt",
    "-optix-ir": "--optix-ir",
    "-gen-opt-lto": "--gen-opt-lto",
    "-time": "--time",
    "-fdevice-syntax-only": "--fdevice-syntax-only",
    "-fdevice-time-trace": "--fdevice-time-trace",
}
"""The long names of short options."""

_TRUTH = "--fmad", "--ftz", "--prec-div", "--prec-sqrt", "--relocatable-device-code"
_NUMBERS = "--maxrregcount", "--split-compile", "--jump-table-density"
_WORDS = (
    "--define-macro", "--undefine-macro", "--include-path", "--pre-include", "--std",
    "--gpu-architecture", "--ptxas-options", "--diag-error", "--diag-suppress", "--diag-warn",
    "--frandom-seed", "--pch-dir", "--time", "--fdevice-time-trace",
)  # fmt: skip
_VALUED = frozenset((*_TRUTH, *_NUMBERS, *_WORDS))
_OPTIONAL = frozenset((
    "--dopt", "--modify-stack-limit", "--builtin-move-forward", "--builtin-initializer-list",
    "--version-ident", "--pch-verbose", "--pch-messages", "--instantiate-templates-in-pch",
    "--device-stack-protector", "--Ofast-compile",
))  # fmt: skip
"""Options whose value, after ``=``, may be left out."""
_PLAIN = frozenset((
    "--use_fast_math", "--generate-line-info", "--device-debug", "--disable-warnings",
    "--restrict", "--extensible-whole-program", "--extra-device-vectorization",
    "--device-int128", "--device-float128", "--no-source-include", "--display-error-number",
    "--no-display-error-number", "--brief-diagnostics", "--pch", "--minimal", "--no-cache",
))  # fmt: skip
_REFUSED = {
    "--device-as-default-execution-space": "write __device__ in front of functions and variables",
    "--dlink-time-opt": "gridlane makes PTX, and no code for the link",
    "--gen-opt-lto": "gridlane makes PTX, and no code for the link",
    "--optix-ir": "gridlane makes PTX, and no code for OptiX",
    "--time": "gridlane keeps no table of the compiler's times",
    "--fdevice-time-trace": "gridlane keeps no trace of the compiler's times",
    "--fdevice-syntax-only": "gridlane makes PTX of every program",
}
_DIALECTS = frozenset(("c++03", "c++11", "c++14", "c++17", "c++20", "c++23"))

_TAKEN = {
    "--define-macro": "-D{}",
    "--undefine-macro": "-U{}",
    "--include-path": "-I{}",
    "--pre-include": "--pre-include={}",
    "--std": "--std={}",
    **{name: f"{name}={{}}" for name in _TRUTH if name != "--relocatable-device-code"},
    "--relocatable-device-code": "-rdc={}",
    "--use_fast_math": "--use_fast_math",
    "--generate-line-info": "--generate-line-info",
    "--device-debug": "-G",
    "--disable-warnings": "-w",
}
"""What the compilers are given. All others tell NVRTC how to compile, or what to print."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a program.

    Attributes:
        words: for gridlane's compilers.
        arch: the architecture, such as ``80``; "" for the usual one.
        is_real: whether code for one GPU is requested, beside PTX.
    """

    words: tuple[str, ...]
    arch: str = ""
    is_real: bool = False


def read(given: Sequence[str]) -> Options:
    """Parse the options of a program.

    Raises:
        Failure: INVALID_OPTION, with the words for the log.

    >>> read(["--gpu-architecture=sm_90", "-D", "N=4"])
    Options(words=('-DN=4', '-arch=compute_90'), arch='90', is_real=True)
    """
    taken, arch, is_real = list[str](), "", False
    for name, value in _pairs(given):
        if name in _REFUSED:
            fail(INVALID_OPTION, f"{name}: {_REFUSED[name]}")
        if name == "--gpu-architecture":
            arch, is_real = _architecture(value)
            continue
        _check(name, value)
        if name in _TAKEN:
            taken.append(_TAKEN[name].format(value))
    if arch:
        taken.append(f"-arch=compute_{arch}")
    return Options(tuple(taken), arch, is_real)


def _architecture(value: str) -> tuple[str, bool]:
    match = _ARCH.fullmatch(value)
    if match is None or int(match[2][:4]) not in ARCHS:
        known = ", ".join(f"compute_{each}" for each in ARCHS)
        fail(INVALID_OPTION, f"--gpu-architecture={value}: one of {known}, or sm_ for compute_")
    return match[2] + match[3], match[1] == "sm"


def _check(name: str, value: str) -> None:
    """Raise INVALID_OPTION for a value that an option does not have."""
    if name in _TRUTH and value not in ("true", "false"):
        fail(INVALID_OPTION, f"{name}={value}: true or false")
    if name in _NUMBERS and not value.isdecimal():
        fail(INVALID_OPTION, f"{name}={value}: a number")
    if name == "--std" and value not in _DIALECTS:
        fail(INVALID_OPTION, f"--std={value}: one of {', '.join(sorted(_DIALECTS))}")


def _pairs(given: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each option by its long name, with its value."""
    rest = iter(given)
    for option in rest:
        if option[:2] in ("-D", "-U", "-I") and len(option) > 2:
            yield _LONG[option[:2]], option[2:].removeprefix("=")
            continue
        start, equals, value = option.partition("=")
        name = _LONG.get(start, start)
        if name in _VALUED:
            setting = value if equals else next(rest, "")
            if not setting:
                fail(INVALID_OPTION, f"the option {option} lacks its value")
            yield name, setting
        elif name in _OPTIONAL or (not equals and (name in _PLAIN or name in _REFUSED)):
            yield name, value
        else:
            fail(INVALID_OPTION, f"unrecognized option {option}")
