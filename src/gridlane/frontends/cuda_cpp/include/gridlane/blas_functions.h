// The functions of cuBLAS, by their names: those of types, with 64-bit sizes, and second versions.
#pragma once

#define GRIDLANE_BLAS(name) GRIDLANE_ANY(cublasStatus_t, cublas##name)
#define GRIDLANE_BLAS_FOUR(name) GRIDLANE_BLAS(S##name) GRIDLANE_BLAS(D##name)                    \
    GRIDLANE_BLAS(C##name) GRIDLANE_BLAS(Z##name)
GRIDLANE_BLAS_FOUR(gelsBatched) GRIDLANE_BLAS_FOUR(geqrfBatched) GRIDLANE_BLAS_FOUR(getrfBatched)
GRIDLANE_BLAS_FOUR(getriBatched) GRIDLANE_BLAS_FOUR(getrsBatched) GRIDLANE_BLAS_FOUR(matinvBatched)
GRIDLANE_BLAS_FOUR(rotg) GRIDLANE_BLAS_FOUR(rotg_v2) GRIDLANE_BLAS_FOUR(tpttr)
GRIDLANE_BLAS_FOUR(trttp)
#define GRIDLANE_BLAS_64(name) GRIDLANE_BLAS(name) GRIDLANE_BLAS(name##_64)
#define GRIDLANE_BLAS_FOUR_64(name) GRIDLANE_BLAS_64(S##name) GRIDLANE_BLAS_64(D##name)           \
    GRIDLANE_BLAS_64(C##name) GRIDLANE_BLAS_64(Z##name)
GRIDLANE_BLAS_FOUR_64(dgmm) GRIDLANE_BLAS_FOUR_64(geam) GRIDLANE_BLAS_FOUR_64(gemmBatched)
GRIDLANE_BLAS_FOUR_64(gemmStridedBatched) GRIDLANE_BLAS_FOUR_64(gemvBatched)
GRIDLANE_BLAS_FOUR_64(gemvStridedBatched) GRIDLANE_BLAS_FOUR_64(syrkx)
GRIDLANE_BLAS_FOUR_64(trsmBatched)
#define GRIDLANE_BLAS_V2(name) GRIDLANE_BLAS_64(name) GRIDLANE_BLAS_64(name##_v2)
#define GRIDLANE_BLAS_FOUR_V2(name) GRIDLANE_BLAS_V2(S##name) GRIDLANE_BLAS_V2(D##name)           \
    GRIDLANE_BLAS_V2(C##name) GRIDLANE_BLAS_V2(Z##name)
#define GRIDLANE_BLAS_NAMES(F) \
    F(axpy) F(copy) F(gbmv) F(gemm) F(gemv) F(rot) F(scal) F(swap) F(symm) F(symv) F(syr) F(syr2) \
    F(syr2k) F(syrk) F(tbmv) F(tbsv) F(tpmv) F(tpsv) F(trmm) F(trmv) F(trsm) F(trsv)
GRIDLANE_BLAS_NAMES(GRIDLANE_BLAS_FOUR_V2)
#define GRIDLANE_BLAS_REAL_V2(name) GRIDLANE_BLAS_V2(S##name) GRIDLANE_BLAS_V2(D##name)
GRIDLANE_BLAS_REAL_V2(asum) GRIDLANE_BLAS_REAL_V2(dot) GRIDLANE_BLAS_REAL_V2(ger)
GRIDLANE_BLAS_REAL_V2(nrm2) GRIDLANE_BLAS_REAL_V2(rotm) GRIDLANE_BLAS_REAL_V2(sbmv)
GRIDLANE_BLAS_REAL_V2(spmv) GRIDLANE_BLAS_REAL_V2(spr) GRIDLANE_BLAS_REAL_V2(spr2)
#define GRIDLANE_BLAS_COMPLEX(name) GRIDLANE_BLAS(C##name) GRIDLANE_BLAS(Z##name)
GRIDLANE_BLAS_COMPLEX(asum) GRIDLANE_BLAS_COMPLEX(dot) GRIDLANE_BLAS_COMPLEX(ger)
GRIDLANE_BLAS_COMPLEX(nrm2)
#define GRIDLANE_BLAS_COMPLEX_V2(name) GRIDLANE_BLAS_V2(C##name) GRIDLANE_BLAS_V2(Z##name)
#undef GRIDLANE_BLAS_NAMES
#define GRIDLANE_BLAS_NAMES(F) \
    F(dotc) F(dotu) F(gerc) F(geru) F(hbmv) F(hemm) F(hemv) F(her) F(her2) F(her2k) F(herk) \
    F(hpmv) F(hpr) F(hpr2)
GRIDLANE_BLAS_NAMES(GRIDLANE_BLAS_COMPLEX_V2)
#undef GRIDLANE_BLAS_NAMES
#define GRIDLANE_BLAS_NAMES(F) \
    F(AsumEx) F(AxpyEx) F(Cgemm3m) F(Cgemm3mBatched) F(Cgemm3mEx) F(Cgemm3mStridedBatched) \
    F(CgemmEx) F(Cherk3mEx) F(CherkEx) F(Cherkx) F(CopyEx) F(Csyrk3mEx) F(CsyrkEx) \
    F(DgemmGroupedBatched) F(DotEx) F(DotcEx) F(GemmBatchedEx) F(GemmEx) F(GemmGroupedBatchedEx) \
    F(GemmStridedBatchedEx) F(GetMatrix) F(GetMatrixAsync) F(GetVector) F(GetVectorAsync) \
    F(HSHgemvBatched) F(HSHgemvStridedBatched) F(HSSgemvBatched) F(HSSgemvStridedBatched) F(Hgemm) \
    F(HgemmBatched) F(HgemmStridedBatched) F(IamaxEx) F(IaminEx) F(Nrm2Ex) F(RotEx) F(RotmEx) \
    F(ScalEx) F(SetMatrix) F(SetMatrixAsync) F(SetVector) F(SetVectorAsync) F(SgemmEx) \
    F(SgemmGroupedBatched) F(SwapEx) F(TSSgemvBatched) F(TSSgemvStridedBatched) F(TSTgemvBatched) \
    F(TSTgemvStridedBatched) F(Zgemm3m) F(Zherkx)
GRIDLANE_BLAS_NAMES(GRIDLANE_BLAS_64)
GRIDLANE_BLAS_V2(Csrot) GRIDLANE_BLAS_V2(Csscal) GRIDLANE_BLAS_V2(Dzasum) GRIDLANE_BLAS_V2(Dznrm2)
GRIDLANE_BLAS_V2(Icamax) GRIDLANE_BLAS_V2(Icamin) GRIDLANE_BLAS_V2(Idamax) GRIDLANE_BLAS_V2(Idamin)
GRIDLANE_BLAS_V2(Isamax) GRIDLANE_BLAS_V2(Isamin) GRIDLANE_BLAS_V2(Izamax) GRIDLANE_BLAS_V2(Izamin)
GRIDLANE_BLAS_V2(Scasum) GRIDLANE_BLAS_V2(Scnrm2) GRIDLANE_BLAS_V2(Zdrot) GRIDLANE_BLAS_V2(Zdscal)
#undef GRIDLANE_BLAS_NAMES
#define GRIDLANE_BLAS_NAMES(F) \
    F(Create) F(Create_v2) F(Destroy) F(Destroy_v2) F(Drotmg) F(Drotmg_v2) F(GetAtomicsMode) \
    F(GetCudartVersion) F(GetLoggerCallback) F(GetMathMode) F(GetPointerMode) F(GetPointerMode_v2) \
    F(GetProperty) F(GetSmCountTarget) F(GetStream) F(GetStream_v2) F(GetVersion) F(GetVersion_v2) \
    F(LogCallback) F(LoggerConfigure) F(MigrateComputeType) F(RotgEx) F(RotmgEx) F(SetAtomicsMode) \
    F(SetLoggerCallback) F(SetMathMode) F(SetPointerMode) F(SetPointerMode_v2) F(SetSmCountTarget) \
    F(SetStream) F(SetStream_v2) F(SetWorkspace) F(Srotmg) F(Srotmg_v2) F(Uint8gemmBias) F(Xerbla)
GRIDLANE_BLAS_NAMES(GRIDLANE_BLAS)
#undef GRIDLANE_BLAS_NAMES
#undef GRIDLANE_BLAS
