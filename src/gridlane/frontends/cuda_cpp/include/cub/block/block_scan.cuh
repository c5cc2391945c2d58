#pragma once
#include "cub/block_scan.cuh"
