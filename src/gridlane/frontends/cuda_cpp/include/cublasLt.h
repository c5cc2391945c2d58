// cuBLASLt for the host, as declarations.
#pragma once
#define CUBLASLT_H_
#include "cublas_v2.h"

struct cublasLtContext;
typedef cublasLtContext *cublasLtHandle_t;
#define GRIDLANE_OPAQUE(name) \
    typedef struct name##Opaque_t { unsigned long long data[8]; } name##Opaque_t, *name##_t;
GRIDLANE_OPAQUE(cublasLtMatrixLayout) GRIDLANE_OPAQUE(cublasLtMatmulDesc)
GRIDLANE_OPAQUE(cublasLtMatrixTransformDesc) GRIDLANE_OPAQUE(cublasLtMatmulPreference)
#undef GRIDLANE_OPAQUE
struct cublasLtMatmulAlgo_t { unsigned long long data[8]; };
struct cublasLtMatmulHeuristicResult_t {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
    int reserved[4];
};
enum cublasLtOrder_t {
    CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW, CUBLASLT_ORDER_COL32, CUBLASLT_ORDER_COL4_4R2_8C,
    CUBLASLT_ORDER_COL32_2R_4R4,
};
enum cublasLtPointerMode_t { CUBLASLT_POINTER_MODE_HOST, CUBLASLT_POINTER_MODE_DEVICE };
enum cublasLtEpilogue_t {
    CUBLASLT_EPILOGUE_DEFAULT = 1, CUBLASLT_EPILOGUE_RELU = 2, CUBLASLT_EPILOGUE_BIAS = 4,
    CUBLASLT_EPILOGUE_RELU_BIAS = 6, CUBLASLT_EPILOGUE_GELU = 32, CUBLASLT_EPILOGUE_GELU_BIAS = 36,
};
enum cublasLtMatrixLayoutAttribute_t {
    CUBLASLT_MATRIX_LAYOUT_TYPE, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_MATRIX_LAYOUT_ROWS,
    CUBLASLT_MATRIX_LAYOUT_COLS, CUBLASLT_MATRIX_LAYOUT_LD, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
    CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET,
};
enum cublasLtMatmulDescAttributes_t {
    CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLASLT_MATMUL_DESC_SCALE_TYPE,
    CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB,
    CUBLASLT_MATMUL_DESC_TRANSC, CUBLASLT_MATMUL_DESC_FILL_MODE, CUBLASLT_MATMUL_DESC_EPILOGUE,
    CUBLASLT_MATMUL_DESC_BIAS_POINTER,
};
enum cublasLtMatrixTransformDescAttributes_t {
    CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE, CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE,
    CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB,
};
enum cublasLtMatmulPreferenceAttributes_t {
    CUBLASLT_MATMUL_PREF_SEARCH_MODE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
};
#define GRIDLANE_LT(name) GRIDLANE_ANY(cublasStatus_t, cublasLt##name)
#define GRIDLANE_NAMES(F) \
    F(Create) F(Destroy) F(Matmul) F(MatrixTransform) F(MatrixLayoutCreate) F(MatrixLayoutInit) \
    F(MatrixLayoutDestroy) F(MatrixLayoutSetAttribute) F(MatrixLayoutGetAttribute) \
    F(MatmulDescCreate) F(MatmulDescInit) F(MatmulDescDestroy) F(MatmulDescSetAttribute) \
    F(MatmulDescGetAttribute) F(MatrixTransformDescCreate) F(MatrixTransformDescInit) \
    F(MatrixTransformDescDestroy) F(MatrixTransformDescSetAttribute) F(MatmulPreferenceCreate) \
    F(MatmulPreferenceInit) F(MatmulPreferenceDestroy) F(MatmulPreferenceSetAttribute) \
    F(MatmulAlgoGetHeuristic) F(MatmulAlgoGetIds) F(MatmulAlgoInit) F(MatmulAlgoCheck) \
    F(MatmulAlgoConfigSetAttribute) F(MatmulAlgoConfigGetAttribute) F(MatmulAlgoCapGetAttribute)
GRIDLANE_NAMES(GRIDLANE_LT)
#undef GRIDLANE_NAMES
#undef GRIDLANE_LT
