#pragma once
#include "cub/block_merge_sort.cuh"
