// Read by old_names.cu: a launch in the spelling of Visual Studio, and a comment in another encoding: LATIN
template <class T> void launch(T *to, T value) { set << <dim3(1), 1, sizeof(T) >> > (to, value); }
