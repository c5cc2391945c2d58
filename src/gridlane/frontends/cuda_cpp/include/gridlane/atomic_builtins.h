// The atomic functions of nvcc 12.8 with an order and a scope, which are constants; the scope is the
// system's where none is given. CUDA C++ Programming Guide, "Atomic Functions".
#pragma once

#define __NV_ATOMIC_RELAXED __ATOMIC_RELAXED
#define __NV_ATOMIC_CONSUME __ATOMIC_CONSUME
#define __NV_ATOMIC_ACQUIRE __ATOMIC_ACQUIRE
#define __NV_ATOMIC_RELEASE __ATOMIC_RELEASE
#define __NV_ATOMIC_ACQ_REL __ATOMIC_ACQ_REL
#define __NV_ATOMIC_SEQ_CST __ATOMIC_SEQ_CST
#define __NV_THREAD_SCOPE_THREAD __MEMORY_SCOPE_SINGLE
#define __NV_THREAD_SCOPE_BLOCK __MEMORY_SCOPE_WRKGRP
#define __NV_THREAD_SCOPE_CLUSTER __MEMORY_SCOPE_DEVICE
#define __NV_THREAD_SCOPE_DEVICE __MEMORY_SCOPE_DEVICE
#define __NV_THREAD_SCOPE_SYSTEM __MEMORY_SCOPE_SYSTEM

#define GRIDLANE_ORDERS(order, scope, ...) order, scope
#define GRIDLANE_HOW(...) GRIDLANE_ORDERS(__VA_ARGS__, __MEMORY_SCOPE_SYSTEM, )
#define GRIDLANE_ORDERS_TWICE(order, failed, scope, ...) order, failed, scope
#define GRIDLANE_HOW_TWICE(...) GRIDLANE_ORDERS_TWICE(__VA_ARGS__, __MEMORY_SCOPE_SYSTEM, )

#define __nv_atomic_load_n(p, ...) __scoped_atomic_load_n(p, GRIDLANE_HOW(__VA_ARGS__))
#define __nv_atomic_load(p, to, ...) __scoped_atomic_load(p, to, GRIDLANE_HOW(__VA_ARGS__))
#define __nv_atomic_store_n(p, v, ...) __scoped_atomic_store_n(p, v, GRIDLANE_HOW(__VA_ARGS__))
#define __nv_atomic_store(p, v, ...) __scoped_atomic_store(p, v, GRIDLANE_HOW(__VA_ARGS__))
#define __nv_atomic_exchange_n(p, v, ...) __scoped_atomic_exchange_n(p, v, GRIDLANE_HOW(__VA_ARGS__))
#define __nv_atomic_exchange(p, v, to, ...) \
    __scoped_atomic_exchange(p, v, to, GRIDLANE_HOW(__VA_ARGS__))
#define __nv_atomic_compare_exchange_n(p, expected, v, weak, ...) \
    __scoped_atomic_compare_exchange_n(p, expected, v, weak, GRIDLANE_HOW_TWICE(__VA_ARGS__))
#define __nv_atomic_compare_exchange(p, expected, v, weak, ...) \
    __scoped_atomic_compare_exchange(p, expected, v, weak, GRIDLANE_HOW_TWICE(__VA_ARGS__))
#define __nv_atomic_fetch_add(p, v, ...) __scoped_atomic_fetch_add(p, v, GRIDLANE_HOW(__VA_ARGS__))
#define __nv_atomic_fetch_sub(p, v, ...) __scoped_atomic_fetch_sub(p, v, GRIDLANE_HOW(__VA_ARGS__))
#define __nv_atomic_fetch_and(p, v, ...) __scoped_atomic_fetch_and(p, v, GRIDLANE_HOW(__VA_ARGS__))
#define __nv_atomic_fetch_or(p, v, ...) __scoped_atomic_fetch_or(p, v, GRIDLANE_HOW(__VA_ARGS__))
#define __nv_atomic_fetch_xor(p, v, ...) __scoped_atomic_fetch_xor(p, v, GRIDLANE_HOW(__VA_ARGS__))
#define __nv_atomic_fetch_min(p, v, ...) __scoped_atomic_fetch_min(p, v, GRIDLANE_HOW(__VA_ARGS__))
#define __nv_atomic_fetch_max(p, v, ...) __scoped_atomic_fetch_max(p, v, GRIDLANE_HOW(__VA_ARGS__))
#define __nv_atomic_add(p, v, ...) ((void)__nv_atomic_fetch_add(p, v, __VA_ARGS__))
#define __nv_atomic_sub(p, v, ...) ((void)__nv_atomic_fetch_sub(p, v, __VA_ARGS__))
#define __nv_atomic_and(p, v, ...) ((void)__nv_atomic_fetch_and(p, v, __VA_ARGS__))
#define __nv_atomic_or(p, v, ...) ((void)__nv_atomic_fetch_or(p, v, __VA_ARGS__))
#define __nv_atomic_xor(p, v, ...) ((void)__nv_atomic_fetch_xor(p, v, __VA_ARGS__))
#define __nv_atomic_min(p, v, ...) ((void)__nv_atomic_fetch_min(p, v, __VA_ARGS__))
#define __nv_atomic_max(p, v, ...) ((void)__nv_atomic_fetch_max(p, v, __VA_ARGS__))
