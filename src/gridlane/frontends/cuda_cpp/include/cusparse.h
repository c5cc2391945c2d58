// cuSPARSE for the host, as declarations.
#pragma once
#define CUSPARSE_H_
#include "cuComplex.h"
#include "gridlane/libraries.h"

struct cusparseContext;
struct cusparseMatDescr;
struct cusparseSpVecDescr;
struct cusparseDnVecDescr;
struct cusparseSpMatDescr;
struct cusparseDnMatDescr;
struct cusparseSpGEMMDescr;
struct cusparseSpSVDescr;
typedef cusparseContext *cusparseHandle_t;
typedef cusparseMatDescr *cusparseMatDescr_t;
typedef cusparseSpVecDescr *cusparseSpVecDescr_t;
typedef cusparseDnVecDescr *cusparseDnVecDescr_t;
typedef cusparseSpMatDescr *cusparseSpMatDescr_t;
typedef cusparseDnMatDescr *cusparseDnMatDescr_t;
typedef cusparseSpGEMMDescr *cusparseSpGEMMDescr_t;
typedef cusparseSpSVDescr *cusparseSpSVDescr_t;
enum cusparseStatus_t {
    CUSPARSE_STATUS_SUCCESS, CUSPARSE_STATUS_NOT_INITIALIZED, CUSPARSE_STATUS_ALLOC_FAILED,
    CUSPARSE_STATUS_INVALID_VALUE, CUSPARSE_STATUS_ARCH_MISMATCH, CUSPARSE_STATUS_MAPPING_ERROR,
    CUSPARSE_STATUS_EXECUTION_FAILED, CUSPARSE_STATUS_INTERNAL_ERROR,
    CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED, CUSPARSE_STATUS_ZERO_PIVOT,
    CUSPARSE_STATUS_NOT_SUPPORTED, CUSPARSE_STATUS_INSUFFICIENT_RESOURCES,
};
GRIDLANE_REFUSAL(cusparseStatus_t, CUSPARSE_STATUS_NOT_SUPPORTED)
enum cusparseOperation_t {
    CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE,
    CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE,
};
enum cusparseIndexBase_t { CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_INDEX_BASE_ONE };
enum cusparseIndexType_t { CUSPARSE_INDEX_16U = 1, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_64I };
enum cusparseMatrixType_t {
    CUSPARSE_MATRIX_TYPE_GENERAL, CUSPARSE_MATRIX_TYPE_SYMMETRIC, CUSPARSE_MATRIX_TYPE_HERMITIAN,
    CUSPARSE_MATRIX_TYPE_TRIANGULAR,
};
enum cusparseOrder_t { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW };
enum cusparsePointerMode_t { CUSPARSE_POINTER_MODE_HOST, CUSPARSE_POINTER_MODE_DEVICE };
enum cusparseAction_t { CUSPARSE_ACTION_SYMBOLIC, CUSPARSE_ACTION_NUMERIC };
enum cusparseFillMode_t { CUSPARSE_FILL_MODE_LOWER, CUSPARSE_FILL_MODE_UPPER };
enum cusparseDiagType_t { CUSPARSE_DIAG_TYPE_NON_UNIT, CUSPARSE_DIAG_TYPE_UNIT };
enum cusparseDirection_t { CUSPARSE_DIRECTION_ROW, CUSPARSE_DIRECTION_COLUMN };
enum cusparseSolvePolicy_t { CUSPARSE_SOLVE_POLICY_NO_LEVEL, CUSPARSE_SOLVE_POLICY_USE_LEVEL };
enum cusparseCsr2CscAlg_t {
    CUSPARSE_CSR2CSC_ALG_DEFAULT = 1, CUSPARSE_CSR2CSC_ALG1 = 1, CUSPARSE_CSR2CSC_ALG2,
};
enum cusparseFormat_t {
    CUSPARSE_FORMAT_CSR = 1, CUSPARSE_FORMAT_CSC, CUSPARSE_FORMAT_COO, CUSPARSE_FORMAT_BLOCKED_ELL = 5,
    CUSPARSE_FORMAT_BSR, CUSPARSE_FORMAT_SLICED_ELLPACK,
};
enum cusparseSpMVAlg_t {
    CUSPARSE_SPMV_ALG_DEFAULT, CUSPARSE_SPMV_COO_ALG1, CUSPARSE_SPMV_CSR_ALG1,
    CUSPARSE_SPMV_CSR_ALG2, CUSPARSE_SPMV_COO_ALG2, CUSPARSE_SPMV_SELL_ALG1,
};
enum cusparseSpMMAlg_t {
    CUSPARSE_SPMM_ALG_DEFAULT, CUSPARSE_SPMM_COO_ALG1, CUSPARSE_SPMM_COO_ALG2,
    CUSPARSE_SPMM_COO_ALG3, CUSPARSE_SPMM_CSR_ALG1, CUSPARSE_SPMM_COO_ALG4, CUSPARSE_SPMM_CSR_ALG2,
    CUSPARSE_SPMM_CSR_ALG3 = 12, CUSPARSE_SPMM_BLOCKED_ELL_ALG1, CUSPARSE_SPMM_BSR_ALG1,
};
enum cusparseSpGEMMAlg_t {
    CUSPARSE_SPGEMM_DEFAULT, CUSPARSE_SPGEMM_CSR_ALG_DETERMINITIC,
    CUSPARSE_SPGEMM_CSR_ALG_NONDETERMINITIC, CUSPARSE_SPGEMM_ALG1, CUSPARSE_SPGEMM_ALG2,
    CUSPARSE_SPGEMM_ALG3,
};
enum cusparseSpSVAlg_t { CUSPARSE_SPSV_ALG_DEFAULT };
enum cusparseSpSMAlg_t { CUSPARSE_SPSM_ALG_DEFAULT };
enum cusparseSDDMMAlg_t { CUSPARSE_SDDMM_ALG_DEFAULT };
enum cusparseSpMatAttribute_t { CUSPARSE_SPMAT_FILL_MODE, CUSPARSE_SPMAT_DIAG_TYPE };
enum cusparseDenseToSparseAlg_t { CUSPARSE_DENSETOSPARSE_ALG_DEFAULT };
enum cusparseSparseToDenseAlg_t { CUSPARSE_SPARSETODENSE_ALG_DEFAULT };
typedef const cusparseSpVecDescr *cusparseConstSpVecDescr_t;
typedef const cusparseDnVecDescr *cusparseConstDnVecDescr_t;
typedef const cusparseSpMatDescr *cusparseConstSpMatDescr_t;
typedef const cusparseDnMatDescr *cusparseConstDnMatDescr_t;
#define GRIDLANE_OPAQUE(name) typedef struct name *name##_t;
GRIDLANE_OPAQUE(cusparseSpSMDescr) GRIDLANE_OPAQUE(cusparseSpMMOpPlan) GRIDLANE_OPAQUE(csrsv2Info)
GRIDLANE_OPAQUE(csrsm2Info) GRIDLANE_OPAQUE(csric02Info) GRIDLANE_OPAQUE(csrilu02Info)
GRIDLANE_OPAQUE(bsrsv2Info) GRIDLANE_OPAQUE(bsrsm2Info) GRIDLANE_OPAQUE(bsric02Info)
GRIDLANE_OPAQUE(bsrilu02Info) GRIDLANE_OPAQUE(csrgemm2Info) GRIDLANE_OPAQUE(csru2csrInfo)
GRIDLANE_OPAQUE(pruneInfo) GRIDLANE_OPAQUE(cusparseColorInfo)
#undef GRIDLANE_OPAQUE
#include "gridlane/sparse_functions.h"
inline const char *cusparseGetErrorString(cusparseStatus_t status)
{
    return status ? "the library is not here" : "success";
}
inline const char *cusparseGetErrorName(cusparseStatus_t status)
{
    return status ? "CUSPARSE_STATUS_NOT_SUPPORTED" : "CUSPARSE_STATUS_SUCCESS";
}
