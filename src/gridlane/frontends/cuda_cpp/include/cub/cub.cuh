// What of cub is here: the reductions and scans of warps and blocks.
#pragma once
#include "cub/block_reduce.cuh"
#include "cub/block_scan.cuh"
#include "cub/warp_reduce.cuh"
#include "cub/warp_scan.cuh"
