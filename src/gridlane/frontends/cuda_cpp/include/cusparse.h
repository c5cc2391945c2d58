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
enum cusparseSpMVAlg_t {
    CUSPARSE_SPMV_ALG_DEFAULT, CUSPARSE_SPMV_COO_ALG1, CUSPARSE_SPMV_CSR_ALG1,
    CUSPARSE_SPMV_CSR_ALG2,
};
enum cusparseSpMMAlg_t { CUSPARSE_SPMM_ALG_DEFAULT, CUSPARSE_SPMM_CSR_ALG1 = 4 };
enum cusparseSpGEMMAlg_t { CUSPARSE_SPGEMM_DEFAULT };
enum cusparseSpSVAlg_t { CUSPARSE_SPSV_ALG_DEFAULT };
enum cusparseDenseToSparseAlg_t { CUSPARSE_DENSETOSPARSE_ALG_DEFAULT };
enum cusparseSparseToDenseAlg_t { CUSPARSE_SPARSETODENSE_ALG_DEFAULT };
#define GRIDLANE_SPARSE(name) GRIDLANE_ANY(cusparseStatus_t, cusparse##name)
GRIDLANE_SPARSE(Create) GRIDLANE_SPARSE(Destroy) GRIDLANE_SPARSE(SetStream)
GRIDLANE_SPARSE(SetPointerMode) GRIDLANE_SPARSE(CreateMatDescr) GRIDLANE_SPARSE(DestroyMatDescr)
GRIDLANE_SPARSE(SetMatType) GRIDLANE_SPARSE(SetMatIndexBase) GRIDLANE_SPARSE(CreateCsr)
GRIDLANE_SPARSE(CreateCsc) GRIDLANE_SPARSE(CreateCoo) GRIDLANE_SPARSE(CreateSpVec)
GRIDLANE_SPARSE(CreateDnVec) GRIDLANE_SPARSE(CreateDnMat) GRIDLANE_SPARSE(DestroySpMat)
GRIDLANE_SPARSE(DestroyDnVec) GRIDLANE_SPARSE(DestroyDnMat) GRIDLANE_SPARSE(DestroySpVec)
GRIDLANE_SPARSE(SpMV) GRIDLANE_SPARSE(SpMV_bufferSize) GRIDLANE_SPARSE(SpMM)
GRIDLANE_SPARSE(SpMM_bufferSize) GRIDLANE_SPARSE(SpMatGetSize) GRIDLANE_SPARSE(CsrSetPointers)
GRIDLANE_SPARSE(SpGEMM_createDescr) GRIDLANE_SPARSE(SpGEMM_destroyDescr)
GRIDLANE_SPARSE(SpGEMM_workEstimation) GRIDLANE_SPARSE(SpGEMM_compute) GRIDLANE_SPARSE(SpGEMM_copy)
GRIDLANE_SPARSE(DenseToSparse_bufferSize) GRIDLANE_SPARSE(DenseToSparse_analysis)
GRIDLANE_SPARSE(DenseToSparse_convert) GRIDLANE_SPARSE(SparseToDense)
GRIDLANE_SPARSE(SparseToDense_bufferSize) GRIDLANE_SPARSE(SpSV_createDescr)
GRIDLANE_SPARSE(SpSV_bufferSize) GRIDLANE_SPARSE(SpSV_analysis) GRIDLANE_SPARSE(SpSV_solve)
GRIDLANE_SPARSE(Xcoo2csr) GRIDLANE_SPARSE(Xcsr2coo)
#undef GRIDLANE_SPARSE
inline const char *cusparseGetErrorString(cusparseStatus_t status)
{
    return status ? "the library is not here" : "success";
}
inline const char *cusparseGetErrorName(cusparseStatus_t status)
{
    return status ? "CUSPARSE_STATUS_NOT_SUPPORTED" : "CUSPARSE_STATUS_SUCCESS";
}
