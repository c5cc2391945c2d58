#pragma once
#include "cub/block_radix_sort.cuh"
