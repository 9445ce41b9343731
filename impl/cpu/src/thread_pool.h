// The threads behind parallel_for. Two implementations: OpenMP, whose threads oneDNN shares, and std::thread where the
// compiler was not asked for OpenMP (ThreadSanitizer knows no other: it does not see how libgomp synchronises).
#ifndef DIOPI_CPU_THREAD_POOL_H_
#define DIOPI_CPU_THREAD_POOL_H_

#include "diopi_core/threads.h"

namespace diopigen::cpu::thread_pool {

using namespace core;

// Calls `part(0)` to `part(count - 1)`, each in a thread of its own, this thread among them; `count` is at most
// thread_count(). One call at a time. `part` does not throw.
void run(int count, FunctionRef<void(int)> part);

// Whether this thread is already inside of a parallel region of the host.
bool is_inside_foreign();

// Sets how many threads other users of the same pool start from this thread; returns the previous number.
int limit_others(int count);

}  // namespace diopigen::cpu::thread_pool

#endif  // DIOPI_CPU_THREAD_POOL_H_
