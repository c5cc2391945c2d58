// A function of several arguments as one of a tuple.
#pragma once
#include <tuple>
#include "thrust/gridlane_parts.h"

namespace thrust {

template <typename F_> class zip_function {
    mutable F_ call;

public:
    __host__ __device__ explicit zip_function(F_ call) : call(call) {}
    template <typename Tuple> __host__ __device__ auto operator()(Tuple &&each) const
    {
        return spread(static_cast<Tuple &&>(each),
                      std::make_index_sequence<std::tuple_size<std::decay_t<Tuple>>::value>());
    }

private:
    template <typename Tuple, size_t... Each>
    __host__ __device__ auto spread(Tuple &&each, std::index_sequence<Each...>) const
    {
        return call(std::get<Each>(each)...);
    }
};
template <typename F_> __host__ __device__ zip_function<F_> make_zip_function(F_ call)
{
    return zip_function<F_>(call);
}

}  // namespace thrust
