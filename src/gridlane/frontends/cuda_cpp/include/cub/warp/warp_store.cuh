#pragma once
#include "cub/block_store.cuh"
