// What of cub is here: the parts of warps and blocks; those of a device as declarations.
#pragma once
#include "cub/block_discontinuity.cuh"
#include "cub/block_exchange.cuh"
#include "cub/block_load.cuh"
#include "cub/block_radix_sort.cuh"
#include "cub/block_reduce.cuh"
#include "cub/block_scan.cuh"
#include "cub/block_store.cuh"
#include "cub/device_wide.cuh"
#include "cub/utilities.cuh"
#include "cub/warp_reduce.cuh"
#include "cub/warp_scan.cuh"
