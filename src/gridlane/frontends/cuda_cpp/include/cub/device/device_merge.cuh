#pragma once
#include "cub/device_wide.cuh"
