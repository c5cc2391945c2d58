// cuRAND for the host, as declarations; curand_kernel.h is for kernels.
#pragma once
#include "gridlane/libraries.h"

struct curandGenerator_st;
typedef curandGenerator_st *curandGenerator_t;
enum curandStatus {
    CURAND_STATUS_SUCCESS = 0,
    CURAND_STATUS_VERSION_MISMATCH = 100,
    CURAND_STATUS_NOT_INITIALIZED,
    CURAND_STATUS_ALLOCATION_FAILED,
    CURAND_STATUS_TYPE_ERROR,
    CURAND_STATUS_OUT_OF_RANGE,
    CURAND_STATUS_LENGTH_NOT_MULTIPLE,
    CURAND_STATUS_DOUBLE_PRECISION_REQUIRED,
    CURAND_STATUS_LAUNCH_FAILURE = 201,
    CURAND_STATUS_PREEXISTING_FAILURE,
    CURAND_STATUS_INITIALIZATION_FAILED,
    CURAND_STATUS_ARCH_MISMATCH,
    CURAND_STATUS_INTERNAL_ERROR = 999,
};
typedef curandStatus curandStatus_t;
enum curandRngType {
    CURAND_RNG_PSEUDO_DEFAULT = 100,
    CURAND_RNG_PSEUDO_XORWOW = 101,
    CURAND_RNG_PSEUDO_MRG32K3A = 121,
    CURAND_RNG_PSEUDO_MTGP32 = 141,
    CURAND_RNG_PSEUDO_MT19937 = 142,
    CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
    CURAND_RNG_QUASI_DEFAULT = 200,
    CURAND_RNG_QUASI_SOBOL32 = 201,
};
typedef curandRngType curandRngType_t;
#define GRIDLANE_RANDOM(name) GRIDLANE_ANY(curandStatus_t, curand##name)
GRIDLANE_RANDOM(CreateGenerator) GRIDLANE_RANDOM(CreateGeneratorHost)
GRIDLANE_RANDOM(DestroyGenerator) GRIDLANE_RANDOM(SetStream)
GRIDLANE_RANDOM(SetPseudoRandomGeneratorSeed) GRIDLANE_RANDOM(SetGeneratorOffset)
GRIDLANE_RANDOM(SetGeneratorOrdering) GRIDLANE_RANDOM(SetQuasiRandomGeneratorDimensions)
GRIDLANE_RANDOM(Generate) GRIDLANE_RANDOM(GenerateLongLong) GRIDLANE_RANDOM(GenerateUniform)
GRIDLANE_RANDOM(GenerateUniformDouble) GRIDLANE_RANDOM(GenerateNormal)
GRIDLANE_RANDOM(GenerateNormalDouble) GRIDLANE_RANDOM(GenerateLogNormal)
GRIDLANE_RANDOM(GenerateLogNormalDouble) GRIDLANE_RANDOM(GeneratePoisson)
GRIDLANE_RANDOM(GenerateSeeds) GRIDLANE_RANDOM(GetVersion)
#undef GRIDLANE_RANDOM
