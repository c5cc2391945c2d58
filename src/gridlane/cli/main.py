"""The command ``gridlane``. ``run`` is dispatched by hand, so that it loads no library for that."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Run the command in sys.argv."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["run"]:
        from gridlane.cli.run import parse, run

        request = parse(arguments[1:])
        if request is not None:
            run(request)
            return
    _other_command()


def _other_command() -> None:
    from gridlane.cli.failure import fail
    from gridlane.core.errors import GridlaneError, VerifyError

    # A terminal without Unicode shows a question mark rather than a traceback.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        from gridlane.cli.app import app  # whose help lists the devices

        app(prog_name="gridlane")
    except VerifyError:
        raise  # a defect of gridlane's own, whose traceback is the report
    except GridlaneError as error:
        fail(error, 1)
