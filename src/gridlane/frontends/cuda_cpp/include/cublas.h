#pragma once
#define CUBLAS_H_
#include "cublas_v2.h"
