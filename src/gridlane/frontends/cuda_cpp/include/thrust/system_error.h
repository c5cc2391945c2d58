#pragma once
#include <system_error>
#include "thrust/gridlane_algorithms.h"
