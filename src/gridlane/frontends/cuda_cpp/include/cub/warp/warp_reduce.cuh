#pragma once
#include "cub/warp_reduce.cuh"
