"""Arguments and options of commands: their types, names and help."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gridlane.backends import names


def known_device() -> Any:
    """The option of a device, made with its command: other packages' backends are known by then."""
    text = f"{', '.join(names())}; as GRIDLANE_DEVICE. auto: the best that is verified here."
    return typer.Option(help=text, show_default=False)


def known_target() -> Any:
    """The option of a target, likewise."""
    return typer.Option(help=f"For passes that read its facts: {', '.join(names())}.")


# --- run

PROGRAM = Annotated[
    str, typer.Argument(metavar="SCRIPT args... | -m MODULE args...", show_default=False)
]
FLOATS = Annotated[
    str | None,
    typer.Option(
        metavar="float64|float32",
        help="What Python's floats are in kernels that do not say it; as GRIDLANE_FLOATS.",
        show_default=False,
    ),
]
TRACE = Annotated[bool, typer.Option("--trace", help="Say on stderr what each launch does.")]
CHECK = Annotated[
    bool,
    typer.Option("--check", help="Check each access of kernels to memory; as GRIDLANE_CHECK=1."),
]
PROFILE = Annotated[
    bool, typer.Option("--profile", help="Print on stderr what kernels and copies took.")
]
TRACE_FILE = Annotated[
    str | None,
    typer.Option(metavar="OUT.json", help="Write the profile's timeline, for Perfetto."),
]
HTML = Annotated[
    str | None,
    typer.Option(metavar="OUT.html", help="Write the profile as a page: timeline, roofline."),
]
# --- tune

SECONDS = Annotated[
    str | None,
    typer.Option(
        metavar="SECONDS",
        help="The deadline of each tuning, in place of the program's.",
        show_default=False,
    ),
]
TUNE_DEVICE = Annotated[
    str | None, typer.Option(help="The device; as GRIDLANE_DEVICE.", show_default=False)
]
AGAIN = Annotated[bool, typer.Option("--again", help="Measure also what is known from before.")]
USE = Annotated[
    list[str] | None,
    typer.Option(metavar="TABLE.json", help="Use a table.", show_default=False),
]
EXPORT = Annotated[
    str | None,
    typer.Option(metavar="OUT.json", help="Write the table.", show_default=False),
]
PLOT = Annotated[
    str | None,
    typer.Option(metavar="OUT.svg", help="Draw the candidates.", show_default=False),
]
CHILD = Annotated[
    bool | None,
    typer.Option("--child/--supervised", hidden=True, help="Whether it runs in this process."),
]
# --- compile

WRITTEN_PLACES = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE.{py,cu,ptx,ir}[:KERNEL]...",
        help="Several of cu and ptx are units of one program.",
        show_default=False,
    ),
]
SIG = Annotated[
    str | None,
    typer.Option(
        "--sig",
        "--signature",
        help='Types of the arguments: "f32[:], float32[:, ::1], i32". By default those in the '
        "file: of @cuda.jit, and of launches.",
        show_default=False,
    ),
]
TARGET = Annotated[
    str, typer.Option(metavar="ir|llvm|asm|ptx|cubin|spirv|wgsl|glsl|msl", help="What to make.")
]
ARCH = Annotated[
    str | None,
    typer.Option(
        metavar="sm_NN",
        help="The GPU, for ptx and cubin [default: sm_75], and for llvm [default: the CPU's].",
        show_default=False,
    ),
]
OUTPUT = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE|DIR",
        help="Write here; to a folder a file for each kernel and types.",
        show_default=False,
    ),
]
BLOCK = Annotated[
    str | None,
    typer.Option(
        metavar="X[,Y[,Z]]",
        help="Threads of a block, for the CPU, wgsl and glsl. [default: 256]",
        show_default=False,
    ),
]
VARIANT = Annotated[
    str | None,
    typer.Option(
        metavar="any|compact|coarse",
        help="For which launches of a GPU: any, small ones, or small ones with many blocks "
        "(docs/nvidia.md). [default: any]",
        show_default=False,
    ),
]
EXPLAIN = Annotated[
    bool,
    typer.Option("--explain", help="Say instead what became float64, and why."),
]
ENTRY = Annotated[
    str | None,
    typer.Option(
        metavar="KERNEL",
        help='The kernel, as after the colon; of CUDA C++ also "scale<float>".',
        show_default=False,
    ),
]
LISTS = Annotated[
    bool,
    typer.Option(
        "--list",
        help="Show instead the kernels with their parameters, shared memory and callees, and "
        "what each device refuses.",
    ),
]
LEVEL = Annotated[
    int | None,
    typer.Option(
        "-O",
        metavar="0|1|2|3",
        help="0: do not optimise. [default: the kernel's own]",
        min=0,
        max=3,
        show_default=False,
    ),
]
SAVES = Annotated[
    bool,
    typer.Option("--save-temps", help="Write the stages in between, beside the result."),
]
INCLUDES = Annotated[
    list[str] | None,
    typer.Option("-I", metavar="DIR", help="Headers of CUDA C++.", show_default=False),
]
DEFINES = Annotated[
    list[str] | None,
    typer.Option("-D", metavar="NAME[=VALUE]", help="A macro of it.", show_default=False),
]
STANDARD = Annotated[
    str | None,
    typer.Option("-std", "--std", metavar="c++17", help="Its standard.", show_default=False),
]
# --- opt

PLACE = Annotated[
    str, typer.Argument(metavar="FILE.ir|-", help="IR; - is stdin.", show_default=False)
]
PASSES = Annotated[
    str,
    typer.Option(metavar="A,B,...", help="The passes, in this order.", show_default=False),
]
FP64 = Annotated[str, typer.Option(metavar="emulate|exact|narrow|refuse", help="As in @cuda.jit.")]
OPT_OUTPUT = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write here.", show_default=False),
]
OPT_LISTS = Annotated[
    bool, typer.Option("--list", help="Show every pass and what it does instead.")
]
# --- explain

EXPLAIN_PLACE = Annotated[str, typer.Argument(metavar="FILE.py[:KERNEL]", show_default=False)]
EXPLAIN_SIG = Annotated[
    str | None,
    typer.Option(
        "--sig",
        "--signature",
        help="Types of the arguments, as for compile. By default those in the file.",
        show_default=False,
    ),
]
EXPLAIN_BLOCK = Annotated[
    str | None,
    typer.Option(
        metavar="X[,Y[,Z]]", help="Threads of a block. [default: 256]", show_default=False
    ),
]
EXPLAIN_DEVICE = Annotated[
    str | None,
    typer.Option(help="The device; as GRIDLANE_DEVICE. It need not be here.", show_default=False),
]
EXPLAIN_ARCH = Annotated[
    str | None,
    typer.Option(metavar="sm_NN", help="The GPU, for cuda. [default: sm_75]", show_default=False),
]
# --- export

EXPORT_WRITTEN_PLACES = Annotated[
    list[str], typer.Argument(metavar="FILE.py[:KERNEL]...", show_default=False)
]
EXPORT_OUTPUT = Annotated[
    str, typer.Option("-o", "--output", metavar="DIR", help="Write here.", show_default=False)
]
WEB = Annotated[bool, typer.Option("--web", help="For browsers: the only form that there is.")]
EXPORT_SIG = Annotated[
    list[str] | None,
    typer.Option(
        "--sig",
        "--signature",
        metavar="[KERNEL=]TYPES",
        help="Types of a kernel's arguments, as for compile. By default those in the file.",
        show_default=False,
    ),
]
EXPORT_BLOCK = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[KERNEL=]X[,Y[,Z]]",
        help="Threads of a block, of one kernel or of all others. [default: 256]",
        show_default=False,
    ),
]
EXPORT_FP64 = Annotated[
    str | None,
    typer.Option(
        metavar="emulate|exact|narrow|refuse",
        help="How to compute float64, which browsers have not. [default: the kernel's own]",
        show_default=False,
    ),
]
PAGE = Annotated[
    str | None,
    typer.Option(
        metavar="FILE.html",
        help="The page, in place of one that shows the kernels.",
        show_default=False,
    ),
]
