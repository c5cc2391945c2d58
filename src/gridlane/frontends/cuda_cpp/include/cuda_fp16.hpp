#pragma once
#define __CUDA_FP16_HPP__
#include "cuda_fp16.h"
