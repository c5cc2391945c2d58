#pragma once
#include "gridlane/runtime.h"
