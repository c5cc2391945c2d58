#pragma once
#include "cub/warp_exchange.cuh"
