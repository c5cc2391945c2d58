#pragma once
#include "thrust/gridlane_algorithms.h"
