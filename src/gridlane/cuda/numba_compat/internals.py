"""The modules of numba's and NVIDIA's compilers, and what to write instead of an import of them."""

from __future__ import annotations

ROOT = "numba_cuda_mlir"
_EXTEND = (
    "add functions to kernels with cuda.extending (overload, register_jitable), or link CUDA C++ "
    "or PTX by cuda.declare_device"
)
_INSPECT = "Dispatcher.inspect_llvm() and inspect_asm() show the code of a kernel"
_COMPILE = "cuda.compile and cuda.compile_ptx compile a function"
_MEMORY = "kernels of gridlane allocate no memory that is counted"
_RUN = "cuda.jit and the functions of cuda are the interface that runs without a GPU"

# Each module of NVIDIA's package that programs can import: what it is, and the alternative.
INTERNALS: dict[str, tuple[str, str]] = {
    "_cext": ("its native launcher", _RUN),
    "_helperlib": ("its native helpers", _RUN),
    "_launch_config": ("its record of a launch", _RUN),
    "_mlir": ("its bindings of MLIR", _EXTEND),
    "_mviewbuf": ("its native access to buffers", _RUN),
    "_threading": ("its locks", _RUN),
    "_typeconv": ("its native table of conversions", _RUN),
    "_whole_function_planners": ("its plans of lowering", _EXTEND),
    "annotations": ("its reading of annotations", _RUN),
    "ast_transforms": ("its rewriting of source", "cuda.experimental has consteval"),
    "caching": ("its cache", "GRIDLANE_CACHE_DIR places gridlane's"),
    "codegen": ("its code generator", _INSPECT),
    "descriptor": ("its dispatchers", _RUN),
    "device_declarations": ("its declarations of external functions", _EXTEND),
    "install_registry": ("its registry of implementations", _EXTEND),
    "linker": ("its linker", "cuda.jit(link=[…]) links CUDA C++ and PTX"),
    "logging": ("its log", "GRIDLANE_TRACE=1 shows each launch"),
    "lowering": ("its lowering to MLIR", _EXTEND),
    "lowering_registry": ("its registry of lowerings", _EXTEND),
    "lowering_utilities": ("its helpers for building MLIR", _EXTEND),
    "memory_management": ("its runtime of reference counts", _MEMORY),
    "mlir": ("its helpers for building MLIR", _EXTEND),
    "mlir_compiler": ("its compiler", f"{_COMPILE}; {_INSPECT}"),
    "mlir_debuginfo": ("its debug information", _INSPECT),
    "mlir_lowering": ("its lowering to MLIR", _EXTEND),
    "mlir_optimization": ("its pipeline of passes", _INSPECT),
    "nrt_context": ("its runtime of reference counts", _MEMORY),
    "numbair_transforms": ("its rewriting of numba's IR", _EXTEND),
    "optimization": ("its passes", _INSPECT),
    "runtime": ("its library of MLIR functions", _EXTEND),
    "struct_pointees": ("its types of pointers", _EXTEND),
    "type_defs": ("its classes of types", "numba_cuda_mlir.types has the types"),
    "typing": ("its typing of calls", "cuda.extending has type_callable and overload"),
    "ufunc_db": ("its table of ufuncs", "cuda.vectorize makes ufuncs"),
}


# Names of the compiler in modules that have others too.
INTERNAL_NAMES: dict[str, tuple[str, str, str]] = {
    "compiler": (
        """
            CUFunc CodeLibrary CompileResult ExternFunction ExternMLIRLibrary
            ExternMLIRLibraryFunction ExternalCodeLibrary MLIRDispatcher compile_cubin
            compile_mlir compile_result declare_mlir_library extern_function_dummy_lowering
            mlir_target apply_ast_transforms
        """,
        "what its compilation passes on",
        f"{_COMPILE}; {_INSPECT}",
    ),
    "cuda": (
        """
            compile_cubin compile_mlir intrin
        """,
        "its MLIR and machine code",
        f"{_COMPILE}; {_EXTEND}",
    ),
    "errors": (
        """
            ForceLiteralArg ISSUES_URL MultipleIntrinsicFunctionsError
            UnsupportedIntrinsicTypeError ensure_verifies handle_lowering_error
        """,
        "its reports of defects",
        "gridlane's errors have the line of the kernel",
    ),
    "extending": (
        """
            LoweringRegistry Registry WholeFunctionPlanner canonical_call_key
            make_overload_attribute_template make_overload_template mlir_data_manager
            register register_planner require_launch_config
            set_required_dynamic_shared_memory
        """,
        "its registries of lowerings to MLIR",
        _EXTEND,
    ),
    "models": (
        """
            AggregateTypeModel ContextAwareDataModelManager UnicodeTypeModel mlir_data_manager
            register_fp8_models
        """,
        "its models of types in MLIR",
        "cuda.extending.register_model gives a type its members",
    ),
    "tools": (
        """
            create_numba_cuda_stubs generate_libdevice_stubs generate_mangled_name
            get_cuda_runtime_version get_cuda_toolkit_path get_max_active_clusters
            get_max_ptx_version replace_numba_cuda_in_numba_install resolve_gpu_target
            resolve_target_options
        """,
        "its search for NVIDIA's tools",
        _RUN,
    ),
}
# Modules of numba's compiler, in either package: under ``core``, ``cuda`` or ``np``.
_NAMES = """
    analysis annotations arraymath arrayobj base bytecode byteflow callconv cloudpickle codegen
    compiler_lock compiler_machinery consts controlflow cpython debuginfo descriptor descriptors
    deviceufunc dummyarray entrypoints environment event flags funcdesc inline_closurecall
    interpreter ir ir_utils itanium_mangler libdevicedecl libs locks lowering mappings
    memory_management ndarray npdatetime npdatetime_helpers npyimpl nvvm optional options postproc
    pythonapi registry rewrites serialize sigutils ssa target target_extension targetconfig tracing
    transforms typeconv typed_passes typeinfer ufunc_db unsafe untyped_passes
    CUDACompiler CUDAFlags CompilerBase PassManager _Linker _compat ext_types run_frontend utils
"""
_NUMBA = frozenset(_NAMES.split())
_NUMBA_IN_CORE = "core.compiler", "np.compiler"


def reaches_into_compiler(fullname: str) -> str | None:
    """The error for a module of a compiler; None for other modules."""
    root, _, rest = fullname.partition(".")
    names = rest.split(".")
    if root == ROOT and names[0] in INTERNALS:
        part, instead = INTERNALS[names[0]]
        return _error(fullname, part, instead)
    if root not in (ROOT, "numba"):
        return None
    place = ".".join(names[:-1]).removesuffix(".experimental") if root == ROOT else ""
    owned = INTERNAL_NAMES.get(place)
    if owned is not None and names[-1] in owned[0].split():
        return _error(fullname, owned[1], owned[2])
    if not _NUMBA.isdisjoint(names[1:]) or rest.endswith(_NUMBA_IN_CORE):
        return _error(fullname, "which is numba's compiler of bytecode", f"{_EXTEND}; {_INSPECT}")
    return None


def template_of_compiler(fullname: str) -> str:
    """The error for what makes templates of the compiler's typing."""
    return _error(fullname, "its typing and lowering of calls", _EXTEND)


def _error(fullname: str, part: str, instead: str) -> str:
    owner = "NVIDIA's MLIR compiler" if fullname.startswith(ROOT) else "numba's compiler"
    return (
        f"gridlane does not have {fullname}: it is a part of {owner}, {part}; "
        f"gridlane has a compiler of its own. Instead: {instead}"
    )
