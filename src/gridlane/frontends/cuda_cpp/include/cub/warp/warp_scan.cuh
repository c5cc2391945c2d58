#pragma once
#include "cub/warp_scan.cuh"
