// The threads of a group as fibers: each has a stack, and runs until it comes to a barrier.
#include <diopigen/environment.h>
#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "emulation/launch.h"

namespace diopigen::cuda::emulation {

namespace {

constexpr size_t kStack = 128 * 1024;
constexpr int kMostThreads = 32;

[[noreturn]] void fault(const char* text) {
    std::fprintf(stderr, "diopi_cuda emulation: %s\n", text);
    std::abort();
}

// One group at a time on each thread of the host.
class Fibers {
  public:
    void run(int threads, FunctionRef<void(int)> body) {
        body_ = &body;
        fibers_.resize(static_cast<size_t>(threads));
        for (Fiber& fiber : fibers_) {
            fiber.state = State::kFresh;
        }
        int left = threads;
        while (left > 0) {
            int ended = 0;
            for (int k = 0; k < threads; ++k) {
                at_ = is_reversed() ? threads - 1 - k : k;
                Fiber& fiber = fibers_[at_];
                if (fiber.state == State::kEnded) {
                    continue;
                }
                resume(fiber);
                ended += fiber.state == State::kEnded ? 1 : 0;
            }
            if (ended != 0 && ended != left) {
                fault("some threads of a group ended while others wait at a barrier");
            }
            left -= ended;
        }
    }

    void wait() {
        Fiber& fiber = fibers_[at_];
        fiber.state = State::kWaiting;
        if (_setjmp(fiber.resume_point) == 0) {
            _longjmp(scheduler_, 1);
        }
    }

    static Fibers& instance() {
        thread_local Fibers fibers;
        return fibers;
    }

  private:
    enum class State { kFresh, kWaiting, kEnded };
    struct Fiber {
        std::vector<char> stack;
        jmp_buf resume_point;
        State state = State::kFresh;
    };

    void resume(Fiber& fiber) {
        if (_setjmp(scheduler_) != 0) {
            return;
        }
        if (fiber.state == State::kWaiting) {
            _longjmp(fiber.resume_point, 1);
        }
        if (fiber.stack.empty()) {
            fiber.stack.resize(kStack);
        }
        ucontext_t context;
        getcontext(&context);
        context.uc_stack.ss_sp = fiber.stack.data();
        context.uc_stack.ss_size = fiber.stack.size();
        context.uc_link = nullptr;
        makecontext(&context, &Fibers::enter, 0);
        setcontext(&context);
    }

    static void enter() {
        Fibers& self = instance();
        (*self.body_)(self.at_);
        self.fibers_[self.at_].state = State::kEnded;
        _longjmp(self.scheduler_, 1);
    }

    FunctionRef<void(int)>* body_ = nullptr;
    std::vector<Fiber> fibers_;
    jmp_buf scheduler_;
    int at_ = 0;
};

}  // namespace

bool is_reversed() {
    static const bool reversed = diopigen::environment::checked("DIOPI_CUDA_EMULATION_ORDER") == "reversed";
    return reversed;
}

int group_size(int threads) { return threads < kMostThreads ? threads : kMostThreads; }

void for_groups(int64_t count, int threads, int64_t shared_bytes, FunctionRef<void(int64_t, int, void*)> body) {
    const Access access;
    std::vector<uint64_t> memory(static_cast<size_t>(shared_bytes + 31) / 16 * 2);
    for (int64_t i = 0; i < count; ++i) {
        const int64_t k = is_reversed() ? count - 1 - i : i;
        // Common memory is uninitialised at the start: not zeros.
        std::memset(memory.data(), 0xFB, memory.size() * sizeof(uint64_t));
        const auto thread = [&](int t) { body(k, t, memory.data()); };
        Fibers::instance().run(threads, thread);
    }
}

void synchronize_group() { Fibers::instance().wait(); }

}  // namespace diopigen::cuda::emulation
