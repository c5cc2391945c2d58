"""The commands and their help. Each loads what it needs when it is called."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from gridlane.backends import names
from gridlane.cli import actors_commands, library_commands

app = typer.Typer(
    name="gridlane",
    help="Run numba.cuda programs unchanged, on GPUs and on the CPU.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

# All words after the command are passed on unchanged.
_ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}


def _version(asked: bool) -> None:
    if asked:
        import gridlane

        print(f"gridlane {gridlane.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Run numba.cuda programs unchanged, on GPUs and on the CPU."""


@app.command(
    context_settings={**_ANYTHING, "allow_interspersed_args": False},
    options_metavar="[--device D] [--floats F] [--trace] [--check] [--profile]",
)
def run(
    context: typer.Context,
    program: Annotated[
        str, typer.Argument(metavar="SCRIPT args... | -m MODULE args...", show_default=False)
    ],
    device: Annotated[
        str | None,
        typer.Option(
            help=f"{', '.join(names())}; as GRIDLANE_DEVICE. auto: the best that is verified here.",
            show_default=False,
        ),
    ] = None,
    floats: Annotated[
        str | None,
        typer.Option(
            metavar="float64|float32",
            help="What Python's floats are in kernels that do not say it; as GRIDLANE_FLOATS.",
            show_default=False,
        ),
    ] = None,
    timeout: Annotated[str | None, library_commands.TIMEOUT] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Say on stderr what each launch does.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Check each access of kernels to memory; as GRIDLANE_CHECK=1."
        ),
    ] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Print on stderr what kernels and copies took.")
    ] = False,
    trace_file: Annotated[
        str | None,
        typer.Option(metavar="OUT.json", help="Write the profile's timeline, for Perfetto."),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(metavar="OUT.html", help="Write the profile as a page: timeline, roofline."),
    ] = None,
) -> None:
    """Run a program; `from numba import cuda` in it finds gridlane.

    Everything after SCRIPT or -m MODULE belongs to the program.
    """
    from gridlane.cli import run as command
    from gridlane.cli.failure import seconds

    request = command.parse([program, *context.args])
    if request is not None:
        options = {"device": device, "trace": trace, "check": check, "floats": floats}
        options["timeout"] = None if timeout is None else seconds("run", timeout)
        files = {"profile": profile, "trace_file": trace_file, "html": html}
        command.run(replace(request, **options, **files))


@app.command(
    context_settings={**_ANYTHING, "allow_interspersed_args": False},
    options_metavar="[--seconds S] [--device D] [--export OUT.json] [--plot OUT.svg]",
)
def tune(
    context: typer.Context,
    program: Annotated[
        str, typer.Argument(metavar="SCRIPT args... | -m MODULE args...", show_default=False)
    ],
    seconds: Annotated[
        str | None,
        typer.Option(
            metavar="SECONDS",
            help="The deadline of each tuning, in place of the program's.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="The device; as GRIDLANE_DEVICE.", show_default=False)
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Measure also what is known from before.")
    ] = False,
    use: Annotated[
        list[str] | None,
        typer.Option(metavar="TABLE.json", help="Use a table.", show_default=False),
    ] = None,
    export: Annotated[
        str | None,
        typer.Option(metavar="OUT.json", help="Write the table.", show_default=False),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(metavar="OUT.svg", help="Draw the candidates.", show_default=False),
    ] = None,
    child: Annotated[
        bool | None,
        typer.Option("--child/--supervised", hidden=True, help="Whether it runs in this process."),
    ] = None,
) -> None:
    """Run a program, and show what its tunings try.

    These are calls of cuda.tune, tiles.tune and a loop nest's tune, and launches with
    tiles.autotune. What was found is kept, so that later runs of the program measure nothing
    (docs/tuning.md). Everything after SCRIPT or -m MODULE belongs to the program.
    """
    from gridlane.cli import run as running
    from gridlane.cli import tuning

    request = running.parse([program, *context.args])
    if request is not None:
        request = replace(request, device=device)
        tuning.tune(request, tuning.Request(seconds, again, tuple(use or ()), export, plot, child))


@app.command(name="compile")
def compile_(
    written_places: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE.{py,cu,ptx,ir}[:KERNEL]...",
            help="Several of cu and ptx are units of one program.",
            show_default=False,
        ),
    ],
    sig: Annotated[
        str | None,
        typer.Option(
            "--sig",
            "--signature",
            help='Types of the arguments: "f32[:], float32[:, ::1], i32". By default those in the '
            "file: of @cuda.jit, and of launches.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str, typer.Option(metavar="ir|llvm|asm|ptx|cubin|spirv|wgsl|glsl|msl", help="What to make.")
    ] = "ir",
    arch: Annotated[
        str | None,
        typer.Option(
            metavar="sm_NN",
            help="The GPU, for ptx and cubin [default: sm_75], and for llvm [default: the CPU's].",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE|DIR",
            help="Write here; to a folder a file for each kernel and types.",
            show_default=False,
        ),
    ] = None,
    block: Annotated[
        str | None,
        typer.Option(
            metavar="X[,Y[,Z]]",
            help="Threads of a block, for the CPU, wgsl and glsl. [default: 256]",
            show_default=False,
        ),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            metavar="any|compact|coarse",
            help="For which launches of a GPU: any, small ones, or small ones with many blocks "
            "(docs/nvidia.md). [default: any]",
            show_default=False,
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Say instead what became float64, and why."),
    ] = False,
    entry: Annotated[
        str | None,
        typer.Option(
            metavar="KERNEL",
            help='The kernel, as after the colon; of CUDA C++ also "scale<float>".',
            show_default=False,
        ),
    ] = None,
    lists: Annotated[
        bool,
        typer.Option(
            "--list",
            help="Show instead the kernels with their parameters, shared memory and callees, and "
            "what each device refuses.",
        ),
    ] = False,
    level: Annotated[
        int | None,
        typer.Option(
            "-O",
            metavar="0|1|2|3",
            help="0: do not optimise. [default: the kernel's own]",
            min=0,
            max=3,
            show_default=False,
        ),
    ] = None,
    saves: Annotated[
        bool,
        typer.Option("--save-temps", help="Write the stages in between, beside the result."),
    ] = False,
    includes: Annotated[
        list[str] | None,
        typer.Option("-I", metavar="DIR", help="Headers of CUDA C++.", show_default=False),
    ] = None,
    defines: Annotated[
        list[str] | None,
        typer.Option("-D", metavar="NAME[=VALUE]", help="A macro of it.", show_default=False),
    ] = None,
    standard: Annotated[
        str | None,
        typer.Option("-std", "--std", metavar="c++17", help="Its standard.", show_default=False),
    ] = None,
) -> None:
    """Show what a kernel, or each of a file, compiles to.

    ir is typed IR, llvm optimised LLVM IR, asm the CPU's assembly, ptx a GPU's, cubin its machine
    code, which needs ptxas; spirv is for Vulkan, wgsl for WebGPU, glsl for OpenGL, msl for Metal.
    None needs a GPU. A Python file is loaded, as by import; CUDA C++ needs its compiler
    (docs/ptx.md). Results in ir, ptx and llvm (.ll) can be given again.

    In --sig, i8 to i64 and u8 to u64 count bits; numba's names are int32, float32, f4. Of a tile
    program it is as Triton's, with constants: "*fp32:16, i32, BLOCK=128, num_warps=4".
    """
    from gridlane.cli.compiling import Request, compile_file
    from gridlane.cli.inputs import CppOptions

    cpp = CppOptions(tuple(includes or ()), tuple(defines or ()), standard)
    place, *more = written_places
    request = Request(place, sig, target, arch, block, variant, output, explain, entry, cpp)
    request = replace(request, level=level, saves=saves, lists=lists, more=tuple(more))
    compile_file(request)


@app.command()
def opt(
    place: Annotated[
        str, typer.Argument(metavar="FILE.ir|-", help="IR; - is stdin.", show_default=False)
    ] = "",
    passes: Annotated[
        str,
        typer.Option(metavar="A,B,...", help="The passes, in this order.", show_default=False),
    ] = "",
    target: Annotated[
        str | None,
        typer.Option(help=f"For passes that read its facts: {', '.join(names())}."),
    ] = None,
    fp64: Annotated[
        str, typer.Option(metavar="emulate|exact|narrow|refuse", help="As in @cuda.jit.")
    ] = "exact",
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write here.", show_default=False),
    ] = None,
    lists: Annotated[
        bool, typer.Option("--list", help="Show every pass and what it does instead.")
    ] = False,
) -> None:
    """Run passes of the compiler over IR in text.

    The result of each is verified.
    `gridlane compile --target ir` writes IR of a kernel, and GRIDLANE_DUMP=DIR that of each stage.
    """
    from gridlane.cli import optimising

    if lists:
        optimising.show_passes()
    else:
        optimising.optimise(optimising.Request(place, passes, target, output, fp64))


@app.command()
def explain(
    place: Annotated[str, typer.Argument(metavar="FILE.py[:KERNEL]", show_default=False)],
    sig: Annotated[
        str | None,
        typer.Option(
            "--sig",
            "--signature",
            help="Types of the arguments, as for compile. By default those in the file.",
            show_default=False,
        ),
    ] = None,
    block: Annotated[
        str | None,
        typer.Option(
            metavar="X[,Y[,Z]]", help="Threads of a block. [default: 256]", show_default=False
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            help="The device; as GRIDLANE_DEVICE. It need not be here.", show_default=False
        ),
    ] = None,
    arch: Annotated[
        str | None,
        typer.Option(
            metavar="sm_NN", help="The GPU, for cuda. [default: sm_75]", show_default=False
        ),
    ] = None,
) -> None:
    """Show what became of each line of a kernel, and what is slow.

    What is a vector, gathered, masked or narrowed, what became float64 and why, and which accesses
    take more of memory than they use; of a tile program also where its tiles are, and how products
    are computed. The file is loaded, as by import.
    """
    from gridlane.cli.explaining import Request
    from gridlane.cli.explaining import explain as command

    command(Request(place, sig, block, device, arch))


@app.command()
def export(
    written_places: Annotated[
        list[str], typer.Argument(metavar="FILE.py[:KERNEL]...", show_default=False)
    ],
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="DIR", help="Write here.", show_default=False)
    ],
    web: Annotated[
        bool, typer.Option("--web", help="For browsers: the only form that there is.")
    ] = False,
    sig: Annotated[
        list[str] | None,
        typer.Option(
            "--sig",
            "--signature",
            metavar="[KERNEL=]TYPES",
            help="Types of a kernel's arguments, as for compile. By default those in the file.",
            show_default=False,
        ),
    ] = None,
    block: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[KERNEL=]X[,Y[,Z]]",
            help="Threads of a block, of one kernel or of all others. [default: 256]",
            show_default=False,
        ),
    ] = None,
    fp64: Annotated[
        str | None,
        typer.Option(
            metavar="emulate|exact|narrow|refuse",
            help="How to compute float64, which browsers have not. [default: the kernel's own]",
            show_default=False,
        ),
    ] = None,
    page: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.html",
            help="The page, in place of one that shows the kernels.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write kernels as a page that runs them in a browser.

    DIR receives index.html, a .wgsl for each kernel, manifest.json, and gridlane.js, which loads
    and launches them (docs/web.md). `python -m http.server -d DIR` shows it.
    """
    from gridlane.cli.failure import fail
    from gridlane.cli.web.exporting import Request
    from gridlane.cli.web.exporting import export as command

    if not web:
        fail("export: what for? --web, for browsers, is all that there is")
    command(
        Request(tuple(written_places), output, tuple(sig or ()), tuple(block or ()), fp64, page)
    )


@app.command()
def devices(
    limits: Annotated[
        bool, typer.Option("--limits", help="Show the limits of each device's blocks.")
    ] = False,
) -> None:
    """List the devices of this machine, a line for each."""
    from gridlane.cli.devices import show

    show(limits)


@app.command()
def doctor(
    program: Annotated[
        str | None,
        typer.Argument(help="A CUDA program or library in C or C++.", show_default=False),
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "-v",
            "--verbose",
            help="Show versions, each step, and what to do for each device that fails.",
        ),
    ] = False,
) -> None:
    """Try each device, and show how far it gets.

    With PROGRAM, say which libcuda it gets and why, which runtime and which images are in it, and
    what to do so that it runs on gridlane.

    The status is 1 when the device in use does not pass all steps, or the program does not run.
    """
    if program is not None:
        from gridlane.cli import program as command

        raise typer.Exit(command.show(program))
    from gridlane.cli.doctor import show

    raise typer.Exit(show(verbose))


@app.command()
def selftest(
    device: Annotated[
        str | None,
        typer.Option(
            help="The device to try. [default: GRIDLANE_DEVICE, or cpu]", show_default=False
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the table here as well.", show_default=False),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="Cases with this in their names.", show_default=False),
    ] = None,
    examples: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Run the examples in this folder as well.", show_default=False
        ),
    ] = None,
    compile_only: Annotated[
        bool, typer.Option("--compile-only", help="Only see whether the kernels compile.")
    ] = False,
    check: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-", help="Check a table that somebody sent.", show_default=False
        ),
    ] = None,
) -> None:
    """Compare a device with the interpreter.

    It prints a table to send to others; docs/metal.md describes it.

    The status is 1 when a result is wrong.
    """
    from gridlane.cli.selftest import command

    if check is not None:
        raise typer.Exit(command.verify(check))
    from gridlane.core.config import config

    filters = tuple(only or ())
    request = command.Request(device or config().device, out, filters, examples, compile_only)
    raise typer.Exit(command.run(request))


@app.command()
def conformance(
    device: Annotated[
        list[str] | None,
        typer.Option(help="A device to try. [default: all that are here]", show_default=False),
    ] = None,
    op: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="An op of the IR. [default: all]", show_default=False),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Write a section of a page.")
    ] = False,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Where --markdown goes.", show_default=False),
    ] = None,
) -> None:
    """Try every op on every device, and show how each supports it.

    Native, legalised by passes, or refused; docs/conformance-matrix.md has the latest results. It
    takes some minutes per device. The status is 1 when a result is wrong.
    """
    from gridlane.cli import conformance as command

    request = command.Request(tuple(device or ()), tuple(op or ()), markdown, out)
    raise typer.Exit(command.run(request))


@app.command(context_settings={**_ANYTHING, "help_option_names": []})
def bench(context: typer.Context) -> None:
    """Time kernels and launches on a device.

    On the CPU beside gcc and installed peers, in a checkout; elsewhere beside numpy. On a GPU
    (--device cuda) alone: `python -m benchmarks.nvidia` of a checkout compares.
    """
    from gridlane.cli.bench import bench as command

    raise typer.Exit(command(context.args))


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove every compiled kernel.")] = False,
) -> None:
    """Show the cache of compiled kernels."""
    from gridlane.cli.cache import show

    show(clear)


library_commands.add_to(app)
app.add_typer(actors_commands.actors, name="actors")
