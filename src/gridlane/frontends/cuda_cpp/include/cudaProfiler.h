// Every source has its contents already.
#pragma once
#include "gridlane/driver.h"
