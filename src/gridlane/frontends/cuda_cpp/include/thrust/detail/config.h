#pragma once
#include "thrust/version.h"
#define THRUST_CPP_DIALECT (__cplusplus >= 202002L ? 2020 : __cplusplus >= 201703L ? 2017 : 2014)
