// The same functions.
#pragma once
#define _CUDA_PIPELINE_PRIMITIVES_H_
#include "cuda_pipeline.h"
