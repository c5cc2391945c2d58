#pragma once
#include "cub/block_discontinuity.cuh"
