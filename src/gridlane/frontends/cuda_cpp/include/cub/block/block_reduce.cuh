#pragma once
#include "cub/block_reduce.cuh"
