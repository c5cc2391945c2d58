// The driver's interface as declarations, besides what every source has.
#pragma once
#include "gridlane/driver.h"
