#pragma once
#include "cub/block_load.cuh"
