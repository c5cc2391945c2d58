// Every source has its contents already.
#pragma once
#define cuda_profiler_H
#include "cuda.h"
