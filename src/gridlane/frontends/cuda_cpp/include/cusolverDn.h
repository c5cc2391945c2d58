// cuSOLVER's dense part for the host, as declarations.
#pragma once
#define CUSOLVER_COMMON_H_
#define CUSOLVERDN_H_
#include "cublas_v2.h"
#include "cusparse.h"

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
enum cusolverEigRange_t {
    CUSOLVER_EIG_RANGE_ALL = 1001, CUSOLVER_EIG_RANGE_I, CUSOLVER_EIG_RANGE_V,
};
enum cusolverAlgMode_t { CUSOLVER_ALG_0, CUSOLVER_ALG_1, CUSOLVER_ALG_2 };
#define GRIDLANE_OPAQUE(name) typedef struct name##_struct *name##_t;
GRIDLANE_OPAQUE(syevjInfo) GRIDLANE_OPAQUE(gesvdjInfo) GRIDLANE_OPAQUE(cusolverDnIRSParams)
GRIDLANE_OPAQUE(cusolverDnIRSInfos) GRIDLANE_OPAQUE(csrqrInfo) GRIDLANE_OPAQUE(csrcholInfo)
GRIDLANE_OPAQUE(csrluInfoHost) GRIDLANE_OPAQUE(csrqrInfoHost) GRIDLANE_OPAQUE(csrcholInfoHost)
#undef GRIDLANE_OPAQUE
typedef struct cusolverSpContext *cusolverSpHandle_t;
typedef struct cusolverRfCommon *cusolverRfHandle_t;
#include "gridlane/solver_functions.h"
