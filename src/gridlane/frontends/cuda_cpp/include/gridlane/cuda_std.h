// cuda::std: the C++ library's std, whose headers in this folder give their functions to the device
// as well, and what C++17 lacks.
#pragma once
namespace cuda {
namespace std {
using namespace ::std;
}
}  // namespace cuda
