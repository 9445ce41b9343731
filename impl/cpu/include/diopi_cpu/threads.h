// One pool of threads for the library. Its size is DIOPI_NUM_THREADS, else OMP_NUM_THREADS, else what the machine has.
#ifndef DIOPI_CPU_THREADS_H_
#define DIOPI_CPU_THREADS_H_

#include <cstdint>
#include <functional>

namespace diopi::cpu {

int thread_count();

// Calls `body(begin, end)` over parts of [0, total), each of at least `grain` where there is more than one. The parts
// depend on total, grain and the number of threads only. Runs inline where one part is enough or inside another call.
// The first exception of any part is thrown again here, after all parts have ended.
void parallel_for(int64_t total, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_THREADS_H_
