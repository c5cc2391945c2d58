"""Why tests of numba-cuda-mlir fail here, by the words of their errors: for mlir_report.py."""

from __future__ import annotations

REASONS: dict[str, str] = {
    r"CompilerBase|create_module_ptx|_codelibrary|_vector_types|mlir_module_str|cProfile": (
        "private names of numba's classes and modules"
    ),
    r"must have void return type": "compiles a function without a result type as a kernel",
    r"Arrays are not equal": "what atomics do with NaN",
    r"__launch_config__": "the launch as an option of the kernel",
    r"'Omitted'|as_integer_ratio|must be an exception type": (
        "private names of numba's classes and modules"
    ),
    r"process failed with code|subprocess failed": "a program of the test fails",
    r"assert .*cooperative": "expects `cooperative` of a kernel that only asks for its grid",
    r"return a value of type": "a function that returns an address; refused",
    r"compile_for": "`compiler.compile_for`, which gridlane does not have",
    r"external\.(ptx|ltoir) not found": "plans a link of files that do not exist",
    r"ltoir": "LTO-IR; refused",
    r"clang does not compile": "matches the words of an error or of a text",
    r"takes \d+ arguments, \d+ were given": "a count of arguments",
    r"32 not greater than": "registers of a thread, which this device does not have",
    r"is not compiled for": "looks a signature of any layout up by one of C",
    r"floats of 8 bits": "no floats of 8 bits and fewer in kernels; refused by name",
    r"setup_callback|teardown_callback": (
        "callbacks of modules: linked code becomes a part of the kernel; refused by name"
    ),
    r"Regex pattern did not match|does not match|not found in|Expected regex": (
        "matches the words of an error or of a text"
    ),
    r"DynamicLibNotFoundError": "NVIDIA's driver is called through cuda.core, without gridlane",
    r"CUDA_ERROR_NOT_INITIALIZED": "calls the driver's interface without initialising it",
    r"DID NOT RAISE|not raised|No RuntimeError raised": (
        "an error is expected where gridlane does what is asked"
    ),
    r"DID NOT WARN|Emitted warnings": "a warning is expected that gridlane does not give",
    r"_dtype_from_cuda_array_interface|_Linker|_compat|run_frontend|ext_types|types\.types|"
    r"_compile_as_device_callee|has no attribute '_|has no attribute 'library'|'lto'|"
    r"PendingDeallocs|Placeholder|'typeof'|cudadrv\.|"
    r"arg 2 must be a type|\.fields": ("private names of numba's classes and modules"),
    r"Cache directory should exist|cache files": (
        "files of the cache in `__pycache__`; gridlane's cache has a folder of its own"
    ),
    r"a dtype is required here": "types of a program's own as element types; refused",
    r"numpy\.\w+ cannot be called in a kernel|str\.\w+ cannot be called": (
        "functions whose results need memory that a kernel allocates; refused"
    ),
    r"returns .* on one path and None": "a device function that returns a number or None; refused",
    r"ForeignFunction": "a declared function as an argument of a kernel; refused",
    r"CUDA_DUMP_NVVM": "matches dumps of NVVM IR",
    r"closer than|delta|!= .* within": "compares a logarithm closer than its last digit",
    r"atomic_(max|min)_nan|cudapy/test_atomics": "what atomics do with NaN",
    r"synchronize": "counts calls of a stream's method by a mock",
    r"incompatible shape": "matches the words of an error or of a text",
}
