"""The names of nvcc's options, and which of them ``gridlane cc`` ignores and refuses."""

from __future__ import annotations

LONG = {
    "--output-file": "-o",
    "--include-path": "-I",
    "--system-include": "-isystem",
    "--pre-include": "-include",
    "--define-macro": "-D",
    "--undefine-macro": "-U",
    "--library-path": "-L",
    "--library": "-l",
    "--optimize": "-O",
    "--std": "-std",
    "--gpu-architecture": "-arch",
    "--gpu-code": "-code",
    "--generate-code": "-gencode",
    "--x": "-x",
    "--compiler-options": "-Xcompiler",
    "--linker-options": "-Xlinker",
    "--relocatable-device-code": "-rdc",
    "--cudart": "-cudart",
    "--default-stream": "-default-stream",
    "--compiler-bindir": "-ccbin",
    "--host": "-ccbin",
    "--fmad": "-fmad",
    "--ftz": "-ftz",
    "--prec-div": "-prec-div",
    "--prec-sqrt": "-prec-sqrt",
    "--maxrregcount": "-maxrregcount",
    "--ptxas-options": "-Xptxas",
    "--nvlink-options": "-Xnvlink",
    "--threads": "-t",
    "--keep-dir": "-keep-dir",
    "--machine": "-m",
    "--dependency-output": "-MF",
    "--compile": "-c",
    "--preprocess": "-E",
    "--ptx": "-ptx",
    "--cuda": "-cuda",
    "--fatbin": "-fatbin",
    "--device-c": "-dc",
    "--shared": "-shared",
    "--check": "-check",
    "--debug": "-g",
    "--device-debug": "-G",
    "--generate-line-info": "-lineinfo",
    "--disable-warnings": "-w",
    "--dryrun": "-dryrun",
    "--verbose": "-v",
    "--use_fast_math": "-use_fast_math",
    "--expt-relaxed-constexpr": "-expt-relaxed-constexpr",
    "--expt-extended-lambda": "-extended-lambda",
    "-expt-extended-lambda": "-extended-lambda",
    "--extended-lambda": "-extended-lambda",
    "--generate-dependencies": "-M",
    "--generate-dependencies-with-compile": "-MD",
    "--generate-nonsystem-dependencies": "-MM",
    "--generate-nonsystem-dependencies-with-compile": "-MMD",
    "--keep": "-keep",
    "--resource-usage": "-res-usage",
    "--compress-mode": "-compress-mode",
    "--diag-suppress": "-diag-suppress",
    "--forward-unknown-to-host-compiler": "-forward-unknown-to-host-compiler",
    "--options-file": "-optf",
    "--output-directory": "-odir",
    "--diag-error": "-diag-error",
    "--diag-warn": "-diag-warn",
    "--Werror": "-Werror",
    "--time": "-time",
    "--split-compile": "-split-compile",
    "--ftemplate-depth": "-ftemplate-depth",
    "--ftemplate-backtrace-limit": "-ftemplate-backtrace-limit",
    "--save-temps": "-save-temps",
    "--restrict": "-restrict",
    "--dlink-time-opt": "-dlto",
    "--source-in-ptx": "-src-in-ptx",
    "--extra-device-vectorization": "-extra-device-vectorization",
    "--allow-unsupported-compiler": "-allow-unsupported-compiler",
    "--display-error-number": "-err-no",
    "--static-global-template-stub": "-static-global-template-stub",
    "--cubin": "-cubin",
    "--lib": "-lib",
    "--device-link": "-dlink",
}
"""nvcc's long spellings."""

IGNORED_WITH_VALUE = (
    "-maxrregcount", "-Xptxas", "-Xnvlink", "-t", "-keep-dir", "-code", "-compress-mode",
    "-diag-suppress", "-diag-error", "-diag-warn", "-Werror", "-Xcudafe", "-Xfatbin", "-time",
    "-split-compile", "-static-global-template-stub",
)  # fmt: skip
IGNORED = (
    "-keep", "-save-temps", "-res-usage", "-expt-relaxed-constexpr", "-extended-lambda", "-m64",
    "-restrict", "-dlto", "-src-in-ptx", "-extra-device-vectorization", "-err-no",
    "-allow-unsupported-compiler", "-Wno-deprecated-gpu-targets", "-Wdefault-stream-launch",
    "-Wmissing-launch-bounds", "-Wext-lambda-captures-this", "-Wreorder",
)  # fmt: skip
"""Options that tune, choose among NVIDIA's own warnings, or allow what is allowed here: what a
program answers is the same."""

IGNORED_LIBRARIES = (
    "cudadevrt", "nvToolsExt", "cublas", "cublasLt", "cublas_static", "cublasLt_static", "culibos",
    "cufft", "cufft_static", "curand", "curand_static", "cusparse", "cusparse_static", "cusolver",
    "cusolver_static", "nvidia-ml",
)  # fmt: skip
"""Libraries of whose functions none is left to link: the headers and the PTX have them, or refuse
them by name."""

REFUSED = {
    "-cubin": "machine code of NVIDIA's GPUs; -ptx makes PTX",
    "-lib": "static libraries; compile with -c, and call ar",
    "-dlink": "device code is linked when the program starts; link with gridlane cc",
}
"""Options that are known and not done, with the reason."""
