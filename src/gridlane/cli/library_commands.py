"""The commands for CUDA programs in C: install, uninstall, exec, cc."""

from __future__ import annotations

from typing import Annotated

import typer

_PREFIX = typer.Option(
    metavar="DIR",
    help="Where to [default: share/gridlane of this Python's environment].",
    show_default=False,
)
TIMEOUT = typer.Option(
    metavar="SECONDS",
    help="Stop a launch that takes longer, on cpu and interp; as GRIDLANE_TIMEOUT.",
    show_default=False,
)
_ANYTHING = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
}


_ALL = {"allow_extra_args": True, "ignore_unknown_options": True}


def add_to(app: typer.Typer) -> None:
    """Add the commands to ``gridlane``'s."""
    app.command()(install)
    app.command()(uninstall)
    options = "[--device D] [--timeout S] [--trace] [--check]"
    app.command(name="exec", context_settings=_ANYTHING, options_metavar=options)(execute)
    app.command(context_settings=_ALL, options_metavar="[nvcc's options]", add_help_option=False)(
        cc
    )


def install(
    prefix: Annotated[str | None, _PREFIX] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also where NVIDIA's driver is installed.")
    ] = False,
) -> None:
    """Install libcuda, libcudart, libnvrtc and headers."""
    from gridlane.cli import libraries

    libraries.install(prefix, force)


def uninstall(prefix: Annotated[str | None, _PREFIX] = None) -> None:
    """Remove exactly what install wrote."""
    from gridlane.cli import libraries

    libraries.uninstall(prefix)


def execute(
    context: typer.Context,
    program: Annotated[str, typer.Argument(metavar="PROGRAM args...", show_default=False)],
    device: Annotated[
        str | None, typer.Option(help="The device; as GRIDLANE_DEVICE.", show_default=False)
    ] = None,
    timeout: Annotated[str | None, TIMEOUT] = None,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace",
            help="Print each call of CUDA's with its result and time to stderr, and launches.",
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Check each access of kernels to memory, on cpu and interp."),
    ] = False,
) -> None:
    """Run a CUDA program; it finds gridlane's libcuda and libcudart.

    Everything after PROGRAM belongs to the program.
    """
    from gridlane.cli import libraries

    libraries.execute(program, context.args, device, trace, timeout, check)


def cc(context: typer.Context) -> None:
    """Compile and link CUDA programs; the options are nvcc's."""
    from gridlane.cli import cc as tool

    tool.run(context.args)
