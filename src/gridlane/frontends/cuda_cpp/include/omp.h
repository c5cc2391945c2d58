// OpenMP's host functions as declarations: programs time with them.
#pragma once

typedef struct { void *gridlane_lock; } omp_lock_t;
enum omp_sched_t { omp_sched_static = 1, omp_sched_dynamic, omp_sched_guided, omp_sched_auto };
extern "C" {
int omp_get_max_threads();
int omp_get_num_procs();
int omp_get_num_threads();
int omp_get_thread_num();
int omp_get_num_devices();
int omp_get_thread_limit();
int omp_in_parallel();
void omp_set_num_threads(int threads);
void omp_set_dynamic(int dynamic);
void omp_set_nested(int nested);
void omp_set_schedule(omp_sched_t kind, int chunk);
void omp_init_lock(omp_lock_t *lock);
void omp_destroy_lock(omp_lock_t *lock);
void omp_set_lock(omp_lock_t *lock);
void omp_unset_lock(omp_lock_t *lock);
double omp_get_wtime();
double omp_get_wtick();
}
