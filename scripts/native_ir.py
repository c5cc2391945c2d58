"""Write the CPU device's pool as LLVM IR beside its sources, before a release is built.

    python scripts/native_ir.py

Installs without the compiled module read it. It needs the ``ziglang`` package.
"""

from __future__ import annotations

from gridlane.native import text


def main() -> None:
    """Write the text of each target, and print its path and size in bytes."""
    for target in text.TARGETS.values():
        made = text.compiled(target)
        text.write(target, made)
        print(text.path_of(target), len(made))


if __name__ == "__main__":
    main()
