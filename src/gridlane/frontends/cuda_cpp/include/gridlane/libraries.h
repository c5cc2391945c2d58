// Names of CUDA's libraries for the host. Their functions take whatever arguments a program gives
// them: absent.h says when they are called.
#pragma once
#include "gridlane/absent.h"
#include "gridlane/runtime.h"

#define GRIDLANE_ANY(Status, name) \
    template <typename... A_> GRIDLANE_ABSENT Status name(const A_ &...) GRIDLANE_BODY(return (Status)0;)
// Of float, double, and complex numbers of both.
#define GRIDLANE_REAL(Status, library, name) \
    GRIDLANE_ANY(Status, library##S##name) GRIDLANE_ANY(Status, library##D##name)
#define GRIDLANE_FOUR(Status, library, name)                                                   \
    GRIDLANE_REAL(Status, library, name)                                                       \
    GRIDLANE_ANY(Status, library##C##name) GRIDLANE_ANY(Status, library##Z##name)

enum cudaDataType_t {
    CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_R_8I, CUDA_C_32F, CUDA_C_64F, CUDA_C_16F, CUDA_C_8I,
    CUDA_R_8U, CUDA_C_8U, CUDA_R_32I, CUDA_C_32I, CUDA_R_32U, CUDA_C_32U, CUDA_R_16BF, CUDA_C_16BF,
    CUDA_R_8F_E4M3 = 28, CUDA_R_8F_E5M2,
};
typedef cudaDataType_t cudaDataType;
enum libraryPropertyType { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL };
