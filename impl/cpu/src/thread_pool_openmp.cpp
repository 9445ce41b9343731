// The thread pool of OpenMP.
#ifdef _OPENMP

#include <omp.h>

#include "thread_pool.h"

namespace diopigen::cpu::thread_pool {

void run(int count, FunctionRef<void(int)> part) {
    // Always the full pool: libgomp ends and starts threads where the size of the pool changes between two calls.
#pragma omp parallel num_threads(thread_count())
    {
        // The host may limit OpenMP (OMP_THREAD_LIMIT): fewer threads than asked for take the parts in turns.
        for (int index = omp_get_thread_num(); index < count; index += omp_get_num_threads()) {
            part(index);
        }
    }
}

bool is_inside_foreign() { return omp_in_parallel() != 0; }

int limit_others(int count) {
    const int previous = omp_get_max_threads();
    if (previous != count) {
        omp_set_num_threads(count);
    }
    return previous;
}

}  // namespace diopigen::cpu::thread_pool

#endif  // _OPENMP
