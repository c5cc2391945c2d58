#pragma once
#include "gridlane/cub_operations.h"
