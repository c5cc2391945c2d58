// The driver's interface as declarations, besides what every source has.
#pragma once
#define __cuda_cuda_h__
#include "gridlane/driver.h"
