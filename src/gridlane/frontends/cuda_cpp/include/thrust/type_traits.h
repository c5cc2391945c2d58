#pragma once
#include "thrust/gridlane_parts.h"

namespace thrust {
using std::false_type;
using std::integral_constant;
using std::true_type;
namespace detail {
using namespace std;
}
}  // namespace thrust
