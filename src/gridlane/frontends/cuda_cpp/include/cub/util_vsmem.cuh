#pragma once
#include "cub/utilities.cuh"
