// Stores past the caches.
#ifndef DIOPI_CPU_STREAM_H_
#define DIOPI_CPU_STREAM_H_

#include <cstdint>

namespace diopigen::cpu {

// Whether a result of so many bytes is better written past the caches: it does not fit in them, and an ordinary store
// would read each line first.
bool is_worth_streaming(int64_t bytes);

// As std::memcpy, past the caches. `end_streaming` before anybody else reads what was written.
void stream_copy(void* to, const void* from, int64_t bytes);
void end_streaming();

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_STREAM_H_
