// What programs take from thrust's traits of types: those of the C++ library.
#pragma once
#include "thrust/type_traits.h"
