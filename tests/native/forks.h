/* FORKS: whether the child of a fork may start threads and allocate memory. ThreadSanitizer refuses
 * threads there; AddressSanitizer's allocator has locks that other threads of the parent held. */
#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
#define FORKS
#endif
