#pragma once
#include "cub/block_exchange.cuh"
