"""Write the PTX of programs.py by Triton's own compiler, beside this file.

    pip install triton && python tests/frontends/triton/compiled/make.py

A GPU is not needed. Triton 3.5.0 wrote the files here.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
HEAD = "import triton\nimport triton.language as tl\n\njit = triton.jit\n"


def main() -> None:
    """Write a file for each program."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    text = (HERE / "programs.py").read_text()
    body = text[text.index("@jit") :]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "for_triton.py").write_text(HEAD + "\n\n" + body)
        sys.path.insert(0, folder)
        from for_triton import SIZES  # pyright: ignore[reportMissingImports]

        for function, size in SIZES.items():
            signature = dict.fromkeys(("x", "y", "out"), "*i32") | {"count": "i32"}
            source = ASTSource(
                function, signature=signature | {"SIZE": "constexpr"}, constexprs={"SIZE": size}
            )
            target = GPUTarget("cuda", 80, 32)
            kernel = triton.compile(source, target=target, options={"num_warps": 2})
            ptx = kernel.asm["ptx"]
            code = ptx[: ptx.index("\t.section")] if "\t.section" in ptx else ptx
            lines = [line.split("//")[0].rstrip() for line in code.splitlines()]
            kept = [
                line for line in lines if line.strip() and not re.match(r"\s*\.(loc|file)", line)
            ]
            head = f"// Triton {triton.__version__}; shared: {kernel.metadata.shared}\n"
            (HERE / f"{function.__name__}.ptx").write_text(head + "\n".join(kept) + "\n")


if __name__ == "__main__":
    main()
