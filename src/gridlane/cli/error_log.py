"""``gridlane doctor --errors``: the errors that programs have written to the file of
GRIDLANE_ERRORS."""

from __future__ import annotations

from datetime import UTC, datetime

from gridlane.cli.failure import check_settings, fail
from gridlane.core import error_file
from gridlane.core.config import config
from gridlane.core.error_report import report_of


def show(as_json: bool, errors: bool, others: bool) -> int:
    """Print the report; return the exit status.

    Args:
        as_json: print it as JSON.
        errors: whether --errors is given.
        others: whether something is given that has no meaning beside --errors.
    """
    check_settings()
    if not errors:
        fail("doctor: --json is for --errors")
    if others:
        fail("doctor: --errors is about a file, and not about PROGRAM or --verbose")
    path = config().error_file
    if path is None:
        fail(
            "doctor --errors: set GRIDLANE_ERRORS=FILE for the programs, which append their errors "
            "to it, and for this command"
        )
    try:
        lines = error_file.read(path)
    except FileNotFoundError:
        fail(f"doctor --errors: there is no {path}: no program has written an error to it", 1)
    except OSError as error:
        fail(f"doctor --errors: {error}", 1)
    report = report_of(lines.entries, datetime.now(UTC), lines.skipped)
    print(report.json() if as_json else report)
    return 0
