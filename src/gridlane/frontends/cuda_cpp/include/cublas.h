// cuBLAS as it was before handles; its functions take letters for operations.
#pragma once
#define CUBLAS_H_
#include "cublas_v2.h"
#define GRIDLANE_BLAS(name) GRIDLANE_ANY(cublasStatus_t, cublas##name)
GRIDLANE_BLAS(Init) GRIDLANE_BLAS(Shutdown) GRIDLANE_BLAS(Alloc) GRIDLANE_BLAS(Free) GRIDLANE_BLAS(GetError) GRIDLANE_BLAS(SetKernelStream)
#undef GRIDLANE_BLAS
