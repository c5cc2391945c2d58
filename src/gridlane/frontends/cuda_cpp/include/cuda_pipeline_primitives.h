// The same functions.
#pragma once
#include "cuda_pipeline.h"
