// Every source has its contents already.
#pragma once
#define __CUDA_PROFILER_API_H__
