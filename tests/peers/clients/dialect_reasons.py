"""Why tests of numba-cuda do not pass, by module: for the page of dialect_suite.py."""

from __future__ import annotations

REASONS = {
    "cudapy.test_alignment": ("numba refuses records without alignment, which work here"),
    "cudapy.test_analysis": (
        "imports or reads numba's internals (its IR's analyses), which are no API"
    ),
    "cudapy.test_array_alignment": "matches names of arrays in numba's LLVM text",
    "cudapy.test_atomics": "matches `red.add.f64` in PTX, which is `red.global.add.f64` here",
    "cudapy.test_byteflow": (
        "imports or reads numba's internals (its bytecode analysis), which are no API"
    ),
    "cudapy.test_caching": (
        "counts index files in `__pycache__`, and reads a stale kernel after a global has"
        " changed; gridlane's cache has a folder of its own, and its keys hold globals "
        "and captured arrays"
    ),
    "cudapy.test_casting": "matches PTX's conversions of float16, which are made through float32",
    "cudapy.test_compiler": (
        "imports or reads numba's internals (`cudadrv.nvrtc`, `core.callconv`), which are"
        " no API; compile and its kin are tested in tests/cuda/test_compiled_functions.py"
    ),
    "cudapy.test_complex": "compares a logarithm to a base closer than one unit of its last place",
    "cudapy.test_const_string": (
        "imports or reads numba's internals (`cuda.descriptor`), which are no API"
    ),
    "cudapy.test_cooperative_groups": (
        "an external function that returns a pointer, and numba's code library"
    ),
    "cudapy.test_copy_propagate": "imports or reads numba's internals (its IR), which are no API",
    "cudapy.test_cuda_array_interface": (
        "needs CuPy; private `memory_manager.deallocations`; gridlane copies arrays with "
        "negative strides, and aligned records have one type"
    ),
    "cudapy.test_cupy_bfloat16_interop": "needs CuPy",
    "cudapy.test_datetime": "needs CuPy",
    "cudapy.test_debug": "matches dumps of numba's stages",
    "cudapy.test_debuginfo": "matches numba's debug metadata; skipped with that reason",
    "cudapy.test_device_func": "reads numba's internals of a dispatcher",
    "cudapy.test_dispatcher": (
        "reads the size of constant memory, where numba keeps an array that is folded here"
    ),
    "cudapy.test_enums": "imports or reads numba's internals (`cuda.descriptor`), which are no API",
    "cudapy.test_errors": "matches the words of numba's errors, and the refusal of LTO",
    "cudapy.test_exception": "passes where numba is known to fail",
    "cudapy.test_extending": (
        "imports or reads numba's internals (`cuda.target`, memos of intrinsics), which are no API"
    ),
    "cudapy.test_fastmath": "matches `tanh.approx.f32` in PTX",
    "cudapy.test_flow_control": (
        "imports or reads numba's internals (`core.controlflow`), which are no API"
    ),
    "cudapy.test_fp8_bindings": "no type of 8-bit floats in kernels",
    "cudapy.test_globals": "counted as defined, but replaced by a later test of its name",
    "cudapy.test_gufunc": "matches the words of a refusal",
    "cudapy.test_gufunc_scheduling": (
        "imports or reads numba's internals (`deviceufunc`), which are no API"
    ),
    "cudapy.test_inline": (
        "looks for calls in LLVM text, where all functions are inlined; LTO-IR is refused"
    ),
    "cudapy.test_inspect": "SASS needs NVIDIA's tools; skipped with that reason",
    "cudapy.test_ipc": "handles of memory between processes are refused by name",
    "cudapy.test_ir": "imports or reads numba's internals (its IR), which are no API",
    "cudapy.test_ir_utils": "imports or reads numba's internals (its IR), which are no API",
    "cudapy.test_launch_config_sensitive": (
        "imports or reads numba's internals (`core.rewrites`), which are no API"
    ),
    "cudapy.test_lineinfo": "inlined functions leave no `inlined_at` in PTX",
    "cudapy.test_localmem": (
        "reads numba's type annotation of a kernel; a test writes ten numbers to an array"
        " of one, which may crash at exit"
    ),
    "cudapy.test_make_function_to_jit_function": (
        "matches the words of errors; calls `numpy.arange` in a kernel"
    ),
    "cudapy.test_math": "counted as defined, but replaced by a later test of its name",
    "cudapy.test_matmul": "a plain function, which unittest does not run",
    "cudapy.test_multiprocessing": (
        "pickles a device array to a forked process, which is refused by name"
    ),
    "cudapy.test_optimization": "matches PTX without optimisation: local memory, and no fused sums",
    "cudapy.test_print": (
        "the text of printed bfloat16, and a `print` of more than 32 arguments, which is "
        "printed whole here"
    ),
    "cudapy.test_recursion": "skipped with its reason",
    "cudapy.test_serialize": "reads `pre_launch_callbacks` of a configured kernel",
    "cudapy.test_sm": "matches the words of an error",
    "cudapy.test_sm_creation": (
        "matches the words of errors; reads numba's type annotation of a kernel; lists "
        "are refused by name"
    ),
    "cudapy.test_ssa": (
        "a variable that is read before it has a value is an error here, and a warning there"
    ),
    "cudapy.test_tracing": "imports or reads numba's internals (its tracing), which are no API",
    "cudapy.test_typeconv": "imports or reads numba's internals (`typeconv`), which are no API",
    "cudapy.test_typeinfer": "imports or reads numba's internals (`typeconv`), which are no API",
    "cudapy.test_userexc": "counted as defined, but nested in another function",
    "cudapy.test_vectorize": "replaces the driver's copy functions, which are not called here",
    "cudapy.test_warning": (
        "warnings that a host array is copied, which it is not on this device; settings "
        "of numba's debug mode"
    ),
    "cudadrv.test_array_attr": "`ravel` of an array that needs a copy is refused",
    "cudadrv.test_context_stack": "reads handles of the driver through numba's wrappers",
    "cudadrv.test_cuda_array_slicing": "counts calls of a stream's method by a mock",
    "cudadrv.test_cuda_driver": (
        "imports or reads numba's internals (the driver's wrappers), which are no API"
    ),
    "cudadrv.test_cuda_memory": (
        "imports or reads numba's internals (memory objects of its context), which are no API"
    ),
    "cudadrv.test_cuda_ndarray": "needs cuda.core's buffers; matches the words of errors",
    "cudadrv.test_deallocations": (
        "imports or reads numba's internals (its queue of deallocations), which are no API"
    ),
    "cudadrv.test_emm_plugins": "memory managers of numba's interface",
    "cudadrv.test_events": "a stream of cuda.core, which loads NVIDIA's driver",
    "cudadrv.test_host_alloc": (
        "imports or reads numba's internals (memory objects of its context), which are no API"
    ),
    "cudadrv.test_init": (
        "imports or reads numba's internals (the driver's initialisation), which are no API"
    ),
    "cudadrv.test_inline_ptx": (
        "imports or reads numba's internals (its LLVM builder), which are no API"
    ),
    "cudadrv.test_linker": "imports or reads numba's internals (its linker), which are no API",
    "cudadrv.test_managed_alloc": (
        "imports or reads numba's internals (memory objects of its context), which are no API"
    ),
    "cudadrv.test_module_callbacks": (
        "imports or reads numba's internals (modules of the driver), which are no API"
    ),
    "cudadrv.test_nvjitlink": "needs nvJitLink",
    "cudadrv.test_nvrtc": "imports or reads numba's internals (`cudadrv.nvrtc`), which are no API",
    "cudadrv.test_nvvm_driver": "imports or reads numba's internals (NVVM), which are no API",
    "cudadrv.test_streams": "skipped with its reason",
    "nocuda.test_cache_version": "imports or reads numba's internals (its cache), which are no API",
    "nocuda.test_dummyarray": (
        "imports or reads numba's internals (`cudadrv.dummyarray`), which are no API"
    ),
    "nocuda.test_function_resolution": (
        "imports or reads numba's internals (its registries), which are no API"
    ),
    "nocuda.test_import": (
        "imports or reads numba's internals (the list of modules that it loads), which are no API"
    ),
    "nocuda.test_library_lookup": (
        "imports or reads numba's internals (its search for CUDA's libraries), which are no API"
    ),
    "nocuda.test_nvvm": "imports or reads numba's internals (NVVM), which are no API",
}
