"""The commands and their help. Each loads what it needs when it is called."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from gridlane.cli import actors_commands, library_commands, options

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
    program: options.PROGRAM,
    device: Annotated[str | None, options.known_device()] = None,
    floats: options.FLOATS = None,
    timeout: Annotated[str | None, library_commands.TIMEOUT] = None,
    trace: options.TRACE = False,
    check: options.CHECK = False,
    profile: options.PROFILE = False,
    trace_file: options.TRACE_FILE = None,
    html: options.HTML = None,
) -> None:
    """Run a program; `from numba import cuda` in it finds gridlane.

    Everything after SCRIPT or -m MODULE belongs to the program.
    """
    from gridlane.cli import run as command
    from gridlane.cli.failure import seconds

    request = command.parse([program, *context.args])
    if request is not None:
        settings = {"device": device, "trace": trace, "check": check, "floats": floats}
        settings["timeout"] = None if timeout is None else seconds("run", timeout)
        files = {"profile": profile, "trace_file": trace_file, "html": html}
        command.run(replace(request, **settings, **files))


@app.command(
    context_settings={**_ANYTHING, "allow_interspersed_args": False},
    options_metavar="[--seconds S] [--device D] [--export OUT.json] [--plot OUT.svg]",
)
def tune(
    context: typer.Context,
    program: options.PROGRAM,
    seconds: options.SECONDS = None,
    device: options.TUNE_DEVICE = None,
    again: options.AGAIN = False,
    use: options.USE = None,
    export: options.EXPORT = None,
    plot: options.PLOT = None,
    child: options.CHILD = None,
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
    written_places: options.WRITTEN_PLACES,
    sig: options.SIG = None,
    target: options.TARGET = "ir",
    arch: options.ARCH = None,
    output: options.OUTPUT = None,
    block: options.BLOCK = None,
    variant: options.VARIANT = None,
    explain: options.EXPLAIN = False,
    entry: options.ENTRY = None,
    lists: options.LISTS = False,
    level: options.LEVEL = None,
    saves: options.SAVES = False,
    includes: options.INCLUDES = None,
    defines: options.DEFINES = None,
    standard: options.STANDARD = None,
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
    place: options.PLACE = "",
    passes: options.PASSES = "",
    target: Annotated[str | None, options.known_target()] = None,
    fp64: options.FP64 = "exact",
    output: options.OPT_OUTPUT = None,
    lists: options.OPT_LISTS = False,
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
    place: options.EXPLAIN_PLACE,
    sig: options.EXPLAIN_SIG = None,
    block: options.EXPLAIN_BLOCK = None,
    device: options.EXPLAIN_DEVICE = None,
    arch: options.EXPLAIN_ARCH = None,
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
    written_places: options.EXPORT_WRITTEN_PLACES,
    output: options.EXPORT_OUTPUT,
    web: options.WEB = False,
    sig: options.EXPORT_SIG = None,
    block: options.EXPORT_BLOCK = None,
    fp64: options.EXPORT_FP64 = None,
    page: options.PAGE = None,
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
    errors: Annotated[
        bool,
        typer.Option("--errors", help="Show the errors in the file of GRIDLANE_ERRORS instead."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Show the errors as JSON.")] = False,
) -> None:
    """Try each device, and show how far it gets.

    With PROGRAM, say which libcuda it gets and why, which runtime and which images are in it, and
    what to do so that it runs on gridlane.

    With --errors, show the errors that programs with the same GRIDLANE_ERRORS=FILE have met, with
    counts and a remedy each.

    The status is 1 when the device in use does not pass all steps, or the program does not run.
    """
    if errors or as_json:
        from gridlane.cli import error_log

        raise typer.Exit(error_log.show(as_json, errors, program is not None or verbose))
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
