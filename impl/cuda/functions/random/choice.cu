// Randperm and Multinomial, with the numbers of the CPU library.
#include "diopi_core/dense.h"
#include "diopi_core/math.h"
#include "diopi_cuda/launch.h"
#include "diopi_cuda/primitives.h"
#include "generator.h"
#include "random/random_kernels.h"

namespace diopigen::cuda {

namespace {

// Finds rows that hold a weight that is none, or too few that are positive.
void check_weights(const Finding& found, const double* weights, int64_t rows, int64_t categories, int64_t needed) {
    for_groups(rows, threads_for(categories), 0, [=] DIOPI_KERNEL(Group & group, int64_t row) {
        int64_t positive = 0;
        int64_t wrong = 0;
        for (int64_t c = group.thread(); c < categories; c += group.size()) {
            const double weight = weights[row * categories + c];
            positive += weight > 0 ? 1 : 0;
            wrong += weight >= 0 && isfinite(weight) ? 0 : 1;
        }
        positive = group.sum(positive);
        wrong = group.sum(wrong);
        if (group.thread() == 0 && (wrong > 0 || positive < needed)) {
            found();
        }
    });
}

// The running sums of each row, one addition after the other, as on the CPU.
void add_up(double* sums, const double* weights, int64_t rows, int64_t categories) {
    for_each(rows, [=] DIOPI_KERNEL(int64_t row) {
        double sum = 0;
        for (int64_t c = row * categories; c < (row + 1) * categories; ++c) {
            sum += weights[c];
            sums[c] = sum;
        }
    });
}

// The first of `count` rising values that is not below `value`, or above it where `above` holds.
DIOPI_DEVICE int64_t bound(const double* values, int64_t count, double value, bool above) {
    int64_t first = 0;
    while (count > 0) {
        const int64_t half = count / 2;
        const double own = values[first + half];
        const bool is_left = above ? own <= value : own < value;
        first = is_left ? first + half + 1 : first;
        count = is_left ? count - half - 1 : half;
    }
    return first;
}

// Samples with replacement: where a number falls among the running sums.
void sample_fractions(Int64* samples, const double* sums, int64_t rows, int64_t categories, int64_t count,
                      const RandomNumbers& random) {
    for_each(rows * count, [=] DIOPI_KERNEL(int64_t i) {
        const double* own = sums + i / count * categories;
        const double total = own[categories - 1];
        int64_t found = bound(own, categories, unit(random(i), 0) * total, true);
        // The product may be rounded up to the total: then it is the last category that has a weight.
        if (found == categories) {
            found = bound(own, categories, total, false);
        }
        samples[i] = Int64(found);
    });
}

struct Arrival {
    double time;
    int64_t category;  // -1 for none
};

// Samples without replacement: each category waits for an exponential time over its weight, and the first ones
// come out.
void sample_first(Int64* samples, double* times, const double* weights, int64_t rows, int64_t categories, int64_t count,
                  const RandomNumbers& random) {
    for_groups(rows, threads_for(categories), 0, [=] DIOPI_KERNEL(Group & group, int64_t row) {
        double* own = times + row * categories;
        for (int64_t c = group.thread(); c < categories; c += group.size()) {
            const double weight = weights[row * categories + c];
            const double wait = -numeric::log1p(-unit(random(row * categories + c), 0)) / weight;
            own[c] = weight > 0 ? wait : -1;
        }
        group.sync();
        for (int64_t i = 0; i < count; ++i) {
            Arrival best{0, -1};
            for (int64_t c = group.thread(); c < categories; c += group.size()) {
                if (own[c] >= 0 && (best.category < 0 || own[c] < best.time)) {
                    best = {own[c], c};
                }
            }
            best = group.reduce(best, [](const Arrival& a, const Arrival& b) {
                if (a.category < 0 || b.category < 0) {
                    return a.category < 0 ? b : a;
                }
                const bool is_later = a.time > b.time || (a.time == b.time && a.category > b.category);
                return is_later ? b : a;
            });
            if (group.thread() == 0) {
                samples[row * count + i] = Int64(best.category);
                own[best.category] = -1;
            }
            group.sync();
        }
    });
}

// The element that i is swapped with.
DIOPI_DEVICE int64_t partner_of(const RandomNumbers& random, int64_t i) {
    return static_cast<int64_t>(below(static_cast<uint64_t>(i) + 1, random(i), 0));
}

// What Fisher and Yates arrive at: for i from the last to the first, element i is swapped with its partner, which is
// not behind it. So i ends with what its partner held last: what the least j > i with the same partner brought there,
// which is what j held, which the least k > j with the partner j brought to j, and so on; the last of the chain held
// its own number. Elements are sorted by their partners to find them.
void shuffle(Int64* out, int64_t n, const RandomNumbers& random) {
    Keyed order(n);
    uint64_t* const unsorted = order.keys();
    int64_t* const elements = order.indices();
    for_each(n, [=] DIOPI_KERNEL(int64_t i) {
        unsorted[i] = static_cast<uint64_t>(partner_of(random, i));
        elements[i] = i;
    });
    order.sort(bits_below(n));
    Buffer memory;
    memory.allocate(2 * n * static_cast<int64_t>(sizeof(int64_t)));
    auto* const same = static_cast<int64_t*>(memory.data());  // the next element with the same partner, or -1
    int64_t* const brought = same + n;                        // the first element behind that has it as its partner
    const uint64_t* const partners = order.keys();
    const int64_t* const sorted = order.indices();
    for_each(n, [=] DIOPI_KERNEL(int64_t i) { brought[i] = -1; });
    for_each(n, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t next = at + 1 < n && partners[at + 1] == partners[at] ? sorted[at + 1] : -1;
        const auto partner = static_cast<int64_t>(partners[at]);
        same[sorted[at]] = next;
        if (at == 0 || partners[at - 1] != partners[at]) {
            brought[partner] = sorted[at] > partner ? sorted[at] : next;
        }
    });
    for_each(n, [=] DIOPI_KERNEL(int64_t i) {
        int64_t held = same[i] < 0 ? partner_of(random, i) : same[i];
        while (same[i] >= 0 && brought[held] >= 0) {
            held = brought[held];
        }
        out[i] = Int64(held);
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void permute(const Tensor& target, int64_t n, diopiGeneratorHandle_t generator) {
    const cuda::RandomNumbers random = cuda::RandomNumbers::of(generator);
    const Output<Int64> result(target);
    if (n > 0) {
        cuda::shuffle(result.data(), n, random);
    }
    result.store();
}

void choose(const Tensor& target, const Tensor& weight_tensor, int64_t rows, int64_t categories, int64_t num_samples,
            bool replacement, diopiGeneratorHandle_t generator) {
    const Input<double> weights(weight_tensor);
    const cuda::Check check(
        "C5: weights are finite and not negative, and as many are positive in each row as are drawn from it");
    cuda::check_weights(check.finding(), weights.data(), rows, categories, replacement ? 1 : num_samples);
    check.conclude();
    const cuda::RandomNumbers random = cuda::RandomNumbers::of(generator);
    const Output<Int64> result(target);
    Buffer memory;
    memory.allocate(rows * categories * static_cast<int64_t>(sizeof(double)));
    auto* const room = static_cast<double*>(memory.data());
    if (replacement) {
        cuda::add_up(room, weights.data(), rows, categories);
        cuda::sample_fractions(result.data(), room, rows, categories, num_samples, random);
    } else {
        cuda::sample_first(result.data(), room, weights.data(), rows, categories, num_samples, random);
    }
    result.store();
}

}  // namespace diopigen::core
