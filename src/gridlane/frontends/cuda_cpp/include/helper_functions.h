// What the CUDA samples share.
#pragma once
#ifdef GRIDLANE_PROGRAM
#error "this header is of the CUDA samples: name their folder, -I Common"
#endif
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "helper_image.h"
#include "helper_string.h"
#include "helper_timer.h"
