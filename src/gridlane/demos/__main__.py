"""List the demos: ``python -m gridlane.demos``."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from gridlane import demos

_HELPERS = {"__main__", "checking", "pictures"}


def names() -> list[str]:
    """The demos, in alphabetical order."""
    return [each.name for each in iter_modules(demos.__path__) if each.name not in _HELPERS]


def main() -> None:
    """Print a line for each."""
    for name in names():
        summary = (import_module(f"gridlane.demos.{name}").__doc__ or "").partition("\n")[0]
        print(f"python -m gridlane.demos.{name:<12} {summary}")
    print("--device NAME and --size N choose where and how much; --out FILE.png draws a picture")


if __name__ == "__main__":
    main()
