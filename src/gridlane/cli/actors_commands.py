"""The commands about running actors: ``gridlane actors``."""

from __future__ import annotations

from typing import Annotated

import typer

actors = typer.Typer(
    help="Show what the actors of running programs do.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)


@actors.callback()
def _group() -> None:
    """Show what the actors of running programs do."""


@actors.command()
def top(
    once: Annotated[bool, typer.Option("--once", help="Print the view and end.")] = False,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Between two looks.")
    ] = 1.0,
) -> None:
    """Show the actors of your running programs, live.

    Those that run with GRIDLANE_TELEMETRY=1, or with Runtime(telemetry=True).
    """
    from gridlane.cli.actors_top import top as command

    command(once, interval)
