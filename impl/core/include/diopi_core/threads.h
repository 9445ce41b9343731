// One pool of threads for the library. Its size is DIOPI_NUM_THREADS, else OMP_NUM_THREADS, else what the machine has.
#ifndef DIOPI_CORE_THREADS_H_
#define DIOPI_CORE_THREADS_H_

#include <cstdint>
#include <memory>
#include <type_traits>

namespace diopigen::core {

// A callable by reference, for calls that end before the callable does: no copy, no allocation.
template <typename Signature>
class FunctionRef;

template <typename Result, typename... Arguments>
class FunctionRef<Result(Arguments...)> {
  public:
    template <typename Body, typename = std::enable_if_t<!std::is_same_v<std::decay_t<Body>, FunctionRef>>>
    FunctionRef(Body&& body)  // NOLINT: lambdas convert
        : body_(const_cast<void*>(static_cast<const void*>(std::addressof(body)))),
          call_([](void* callable, Arguments... arguments) -> Result {
              return (*static_cast<std::remove_reference_t<Body>*>(callable))(arguments...);
          }) {}
    Result operator()(Arguments... arguments) const { return call_(body_, arguments...); }

  private:
    void* body_;
    Result (*call_)(void*, Arguments...);
};

using RangeBody = FunctionRef<void(int64_t, int64_t)>;

int thread_count();

// Where `grain` is a multiple of this, so are the boundaries that parallel_for makes: a vector loop then has its tail
// at the same index for every number of threads.
constexpr int64_t kParallelChunk = 1024;

namespace detail {
void run_parallel(int64_t total, int64_t grain, RangeBody body);
}

// Calls `body(begin, end)` over parts of [0, total), about as long as each other and as `grain` or longer. The parts
// depend on total, grain and the number of threads only; results must not. Runs inline where one part is enough, inside
// another call, and where the pool is not to be had (docs/cpu-library.md, Threads). The first exception of any part is
// thrown again here, after all parts have ended.
inline void parallel_for(int64_t total, int64_t grain, RangeBody body) {
    if (total <= 0) {
        return;
    }
    if (total <= grain) {
        body(0, total);
        return;
    }
    detail::run_parallel(total, grain, body);
}

// While it lives, a library that runs on OpenMP by itself has the pool for its calls from this thread: as many threads
// as parallel_for would have. Calls of parallel_for in this scope run inline.
class PoolForOthers {
  public:
    PoolForOthers();
    ~PoolForOthers();
    PoolForOthers(const PoolForOthers&) = delete;
    PoolForOthers& operator=(const PoolForOthers&) = delete;

  private:
    bool has_turn_;
    int previous_;
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_THREADS_H_
