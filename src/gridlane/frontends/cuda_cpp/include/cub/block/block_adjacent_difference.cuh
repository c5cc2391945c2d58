#pragma once
#include "cub/block_neighbours.cuh"
