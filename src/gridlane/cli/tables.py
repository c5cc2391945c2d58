"""The console and the tables of the commands that print some."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table


def console() -> Console:
    """Standard output; a file or a pipe is 100 columns wide, where rich would assume 80."""
    standard_output = Console(highlight=False)
    return standard_output if standard_output.is_terminal else Console(highlight=False, width=100)


def table(*columns: str, title: str | None = None) -> Table:
    """An empty table with a line under its head."""
    empty_table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), title=title)
    empty_table.title_justify = "left"
    for column in empty_table.columns:
        column.overflow = "fold"  # rich would cut a long word: a path would lose its end
    return empty_table
