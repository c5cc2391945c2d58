// cuSOLVER's dense part for the host, as declarations.
#pragma once
#define CUSOLVER_COMMON_H_
#define CUSOLVERDN_H_
#include "cublas_v2.h"

struct cusolverDnContext;
struct cusolverDnParams;
typedef cusolverDnContext *cusolverDnHandle_t;
typedef cusolverDnParams *cusolverDnParams_t;
enum cusolverStatus_t {
    CUSOLVER_STATUS_SUCCESS, CUSOLVER_STATUS_NOT_INITIALIZED, CUSOLVER_STATUS_ALLOC_FAILED,
    CUSOLVER_STATUS_INVALID_VALUE, CUSOLVER_STATUS_ARCH_MISMATCH, CUSOLVER_STATUS_MAPPING_ERROR,
    CUSOLVER_STATUS_EXECUTION_FAILED, CUSOLVER_STATUS_INTERNAL_ERROR,
    CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED, CUSOLVER_STATUS_NOT_SUPPORTED,
};
GRIDLANE_REFUSAL(cusolverStatus_t, CUSOLVER_STATUS_NOT_SUPPORTED)
enum cusolverEigMode_t { CUSOLVER_EIG_MODE_NOVECTOR, CUSOLVER_EIG_MODE_VECTOR };
enum cusolverEigType_t { CUSOLVER_EIG_TYPE_1 = 1, CUSOLVER_EIG_TYPE_2, CUSOLVER_EIG_TYPE_3 };
GRIDLANE_ANY(cusolverStatus_t, cusolverDnCreate) GRIDLANE_ANY(cusolverStatus_t, cusolverDnDestroy)
GRIDLANE_ANY(cusolverStatus_t, cusolverDnSetStream)
#define GRIDLANE_SOLVER(name) GRIDLANE_FOUR(cusolverStatus_t, cusolverDn, name)
GRIDLANE_SOLVER(potrf) GRIDLANE_SOLVER(potrf_bufferSize) GRIDLANE_SOLVER(potrs)
GRIDLANE_SOLVER(getrf) GRIDLANE_SOLVER(getrf_bufferSize) GRIDLANE_SOLVER(getrs)
GRIDLANE_SOLVER(geqrf) GRIDLANE_SOLVER(geqrf_bufferSize) GRIDLANE_SOLVER(ormqr)
GRIDLANE_SOLVER(ormqr_bufferSize) GRIDLANE_SOLVER(gesvd) GRIDLANE_SOLVER(gesvd_bufferSize)
GRIDLANE_SOLVER(syevd) GRIDLANE_SOLVER(syevd_bufferSize) GRIDLANE_SOLVER(potrfBatched)
GRIDLANE_SOLVER(syevj) GRIDLANE_SOLVER(gesvdj)
#undef GRIDLANE_SOLVER
