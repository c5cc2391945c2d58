#pragma once
#include "thrust/gridlane_parts.h"
