// OpenMP's host functions as declarations: programs time with them.
#pragma once

extern "C" {
int omp_get_max_threads();
int omp_get_num_procs();
int omp_get_num_threads();
int omp_get_thread_num();
void omp_set_num_threads(int threads);
double omp_get_wtime();
double omp_get_wtick();
}
