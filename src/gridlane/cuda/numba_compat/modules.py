"""The modules of numba's packages, and the modules that replace them."""

from __future__ import annotations

from gridlane.cuda.numba_compat.internals import ROOT

_HERE = "gridlane.cuda.numba_compat"

# numba's module: its replacement.
NUMBA: dict[str, str] = {
    "numba": f"{_HERE}.toplevel",
    "numba.config": "gridlane.cuda.host.settings",
    "numba.core": f"{_HERE}.core",
    "numba.core.config": "gridlane.cuda.host.settings",
    "numba.core.errors": f"{_HERE}.errors",
    "numba.core.types": "gridlane.cuda.types",
    "numba.cuda": "gridlane.cuda",
    "numba.cuda.api": f"{_HERE}.api",
    **{
        f"{package}.{name}": f"gridlane.cuda.extending.{module}".removesuffix(".")
        for package in ("numba.core", "numba.cuda", "numba.cuda.core")
        for name, module in (
            ("cgutils", "cgutils"),
            ("datamodel", "models"),
            ("datamodel.models", "models"),
            ("extending", ""),
            ("imputils", "imputils"),
            ("models", "models"),
            ("typing.templates", "templates"),
        )
    },
    "numba.core.typing": f"{_HERE}.typing",
    "numba.core.typing.typeof": "gridlane.cuda.kernels.argument_types",
    "numba.cuda._internal": f"{_HERE}.core",
    "numba.cuda._internal.cuda_bf16": "gridlane.cuda.bf16",
    "numba.cuda.bf16": "gridlane.cuda.bf16",
    "numba.cuda.args": "gridlane.cuda.kernels.arguments",
    "numba.cuda.config": "gridlane.cuda.host.settings",
    "numba.cuda.core": f"{_HERE}.core",
    "numba.cuda.core.config": "gridlane.cuda.host.settings",
    "numba.cuda.core.errors": f"{_HERE}.errors",
    "numba.cuda.cudadrv": f"{_HERE}.cudadrv",
    "numba.cuda.cudadrv.devicearray": f"{_HERE}.devicearray",
    "numba.cuda.cudadrv.devices": f"{_HERE}.api",
    "numba.cuda.cudadrv.driver": f"{_HERE}.driver",
    "numba.cuda.cudadrv.drvapi": f"{_HERE}.driver",
    "numba.cuda.cudadrv.nvrtc": f"{_HERE}.nvrtc",
    "numba.cuda.cudadrv.error": "gridlane.cuda.host.errors",
    "numba.cuda.cudadecl": "gridlane.cuda.extending.templates",
    "numba.cuda.cudaimpl": "gridlane.cuda.extending.imputils",
    "numba.extending": "gridlane.cuda.extending",
    "numba.cuda.typing.asnumbatype": "gridlane.cuda.kernels.user_types",
    "numba.cuda.cudadrv.linkable_code": "gridlane.cuda.kernels.linkable",
    "numba.cuda.compiler": "gridlane.cuda.host.compilation",
    "numba.cuda.decorators": "gridlane.cuda.kernels.decorators",
    "numba.cuda.dispatcher": f"{_HERE}.dispatcher",
    "numba.cuda.errors": "gridlane.cuda.host.errors",
    "numba.cuda.kernels": f"{_HERE}.core",
    "numba.cuda.kernels.reduction": "gridlane.cuda.ufuncs.reduction",
    "numba.cuda.kernels.transpose": "gridlane.cuda.ufuncs.transposition",
    "numba.cuda.launchconfig": "gridlane.cuda.kernels.launch",
    "numba.cuda.libdevice": "gridlane.cuda.libdevice",
    "numba.cuda.libdevicefuncs": f"{_HERE}.libdevicefuncs",
    "numba.cuda.misc": f"{_HERE}.core",
    "numba.cuda.misc.special": f"{_HERE}.special",
    "numba.cuda.np": f"{_HERE}.core",
    "numba.cuda.np.numpy_support": f"{_HERE}.numpy_support",
    "numba.cuda.random": "gridlane.cuda.random",
    "numba.cuda.testing": f"{_HERE}.testing",
    "numba.cuda.tests.support": f"{_HERE}.support",
    "numba.cuda.types": "gridlane.cuda.types",
    "numba.cuda.typing": f"{_HERE}.typing",
    "numba.cuda.typing.typeof": "gridlane.cuda.kernels.argument_types",
    "numba.cuda.vector_types": f"{_HERE}.vector_types",
    "numba.misc": f"{_HERE}.core",
    "numba.misc.special": f"{_HERE}.special",
    "numba.np": f"{_HERE}.core",
    "numba.np.numpy_support": f"{_HERE}.numpy_support",
    "numba.tests": f"{_HERE}.core",
    "numba.tests.support": f"{_HERE}.support",
    "numba.types": "gridlane.cuda.types",
    "numba.types.types": "gridlane.cuda.types",
}

_CUDA = "numba.cuda"
_NUMBA_CUDA = {
    name.removeprefix(_CUDA): module for name, module in NUMBA.items() if name.startswith(_CUDA)
}

# The module of numba-cuda's successor: its replacement.
SUCCESSOR: dict[str, str] = {
    **{f"{ROOT}.numba_cuda{name}": module for name, module in _NUMBA_CUDA.items()},
    **{f"{ROOT}.cuda{name}": module for name, module in _NUMBA_CUDA.items()},
    ROOT: f"{_HERE}.mlir.toplevel",
    f"{ROOT}.ast_transforms": f"{_HERE}.mlir.ast_transforms",
    f"{ROOT}.compiler": f"{_HERE}.mlir.compiler",
    f"{ROOT}.cuda": f"{_HERE}.mlir.cuda",
    f"{ROOT}.cuda.experimental": f"{_HERE}.mlir.experimental",
    f"{ROOT}.cuda.types": f"{_HERE}.mlir.types",
    f"{ROOT}.cuda.vector": f"{_HERE}.mlir.vector",
    f"{ROOT}.cuda.vector_types": f"{_HERE}.mlir.vector_types",
    f"{ROOT}.decorators": "gridlane.cuda.kernels.decorators",
    f"{ROOT}.errors": f"{_HERE}.mlir.errors",
    f"{ROOT}.extending": f"{_HERE}.mlir.extending",
    f"{ROOT}.models": f"{_HERE}.mlir.models",
    f"{ROOT}.numba_cuda.tests": f"{_HERE}.core",
    f"{ROOT}.testing": f"{_HERE}.mlir.testing",
    f"{ROOT}.tools": f"{_HERE}.mlir.tools",
    f"{ROOT}.types": f"{_HERE}.mlir.types",
}

MODULES = NUMBA | SUCCESSOR
ROOTS = ("numba", ROOT)
"""The packages of which every module is one of these, or an error."""
