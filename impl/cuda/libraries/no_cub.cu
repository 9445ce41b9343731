// What primitives.h asks for, by own kernels. The sort merges: runs of one element become runs of two, of four, and so
// on. In each pass a thread finds the place of one element: its number in its own run, and by bisection how many
// elements of the other run come before it.
#include "diopi_cuda/launch.h"
#include "diopi_cuda/primitives.h"

namespace diopigen::cuda {

namespace {

// Runs of `width` elements become runs of twice as many.
void merge(uint64_t* keys_to, int64_t* indices_to, const uint64_t* keys, const int64_t* indices, int64_t count,
           int64_t width) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        const int64_t start = i / (2 * width) * (2 * width);
        const int64_t middle = start + width < count ? start + width : count;
        const int64_t end = start + 2 * width < count ? start + 2 * width : count;
        const bool is_left = i < middle;
        const uint64_t own = keys[i];
        // The elements of the other run that come before this one: of equals, those of the left run do.
        int64_t first = is_left ? middle : start;
        int64_t left = is_left ? end - middle : middle - start;
        const int64_t begin = first;
        while (left > 0) {
            const int64_t half = left / 2;
            const uint64_t other = keys[first + half];
            const bool is_before = is_left ? other < own : other <= own;
            first = is_before ? first + half + 1 : first;
            left = is_before ? left - half - 1 : half;
        }
        const int64_t target = start + (is_left ? i - start : i - middle) + (first - begin);
        keys_to[target] = own;
        indices_to[target] = indices[i];
    });
}

}  // namespace

void sum_before_each(int64_t* sums, const int64_t* counts, int64_t count) {
    for_groups(1, threads_for(count), 0, [=] DIOPI_KERNEL(Group & group, int64_t) {
        int64_t before = 0;
        for (int64_t start = 0; start < count; start += group.size()) {
            const int64_t i = start + group.thread();
            int64_t total = 0;
            const int64_t sum = before + group.sum_before(i < count ? counts[i] : int64_t{0}, total);
            if (i < count) {
                sums[i] = sum;
            }
            before += total;
        }
    });
}

void Keyed::sort(int /*bits*/) {
    for (int64_t width = 1; width < count_; width *= 2) {
        merge(static_cast<uint64_t*>(keys_[1 - at_].data()), static_cast<int64_t*>(indices_[1 - at_].data()), keys(),
              indices(), count_, width);
        at_ = 1 - at_;
    }
}

}  // namespace diopigen::cuda
