// That of GNU's library, for both sides: the assignments of std::pair are no constant functions before
// C++20.
#pragma once
#if __cplusplus < 202002L
#include <bits/move.h>
#include <type_traits>
#pragma clang force_cuda_host_device begin
#include_next <bits/stl_pair.h>
#pragma clang force_cuda_host_device end
#else
#include_next <bits/stl_pair.h>
#endif
