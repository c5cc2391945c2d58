// cuda::std is the C++ library's std, of which the device has what is constexpr.
#pragma once
namespace cuda {
namespace std = ::std;
}
