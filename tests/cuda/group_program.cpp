// Kernels over groups, run by the emulation: right ones, one without a barrier, and one with a barrier for some.
#include <cstdio>
#include <cstring>

#include "diopi_cuda/launch.h"

using diopigen::cuda::Group;

void diopigen::core::fail(std::string message, diopiError_t) {
    std::puts(message.c_str());
    std::abort();
}

void diopigen::cuda::check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) {
        core::fail(what, diopiErrorOccurred);
    }
}

const int32_t* diopigen::cuda::guard() { return nullptr; }

// Launches are on no stream of their own here.
cudaStream_t diopigen::cuda::stream() { return nullptr; }

int main(int count, char** arguments) {
    const char* const what = count > 1 ? arguments[1] : "";
    int sum = 0;
    int last = 0;
    int total = 0;
    int seen = 0;
    int joined = 0;
    int first = 0;
    const auto right = [&](Group& group, int64_t) {
        const int own = group.sum(group.thread());
        int all = 0;
        const int before = group.sum_before(group.thread() < 16 ? group.thread() : 0, all);
        // Pairs in the order of the threads: 1 and 2, 3 and 4, then 12 and 34.
        const int digits = group.reduce_within(4, group.thread() % 4 + 1, [](int a, int b) { return 10 * a + b; });
        const int crossed = group.of_lane(group.thread(), 0);
        if (group.thread() == 31) {
            sum = own;
            last = before == all ? group.thread() : -1;
            total = all;
            joined = digits;
            first = crossed;
        }
    };
    const auto no_barrier = [&](Group& group, int64_t) {
        int* const shared = group.shared<int>();
        shared[group.thread()] = group.thread();
        // Without a barrier here, the neighbour's value may or may not be there.
        if (group.thread() == 15) {
            seen = shared[16];
        }
    };
    const auto divergent = [&](Group& group, int64_t) {
        if (group.thread() < 16) {
            group.sync();
        }
    };
    if (std::strcmp(what, "right") == 0) {
        diopigen::cuda::for_groups(1, 32, 0, right);
        std::printf("sum %d scan %d %d joined %d first %d\n", sum, last, total, joined, first);
    } else if (std::strcmp(what, "no-barrier") == 0) {
        diopigen::cuda::for_groups(1, 32, 128, no_barrier);
        std::printf("seen %d\n", seen);
    } else {
        diopigen::cuda::for_groups(1, 32, 0, divergent);
    }
    return 0;
}
