static_assert(N == 4);
