// Attention with caches and prompts.
#include <cmath>

#include "attention/decoding.h"
#include "diopi_cpu/words.h"
#include "diopi_cuda/operand.h"
#include "diopi_cuda/sent.h"
#include "forward.h"
#include "stack.h"

namespace diopi::cuda {

namespace {

// The rows of a tensor that a list names, of `width` elements each.
template <typename T>
void gather(T* to, const Dims& dims, const Operand& from, const int64_t* rows, int64_t count, int64_t width) {
    for_each(count * width, [=] DIOPI_KERNEL(int64_t at) {
        to[at] = load<T>(from.at(dims, rows[at / width] * width + at % width), from.dtype);
    });
}

template <typename W>
void gather_words(W* to, const W* from, const int64_t* rows, int64_t count, int64_t width) {
    for_each(count * width, [=] DIOPI_KERNEL(int64_t at) { to[at] = from[rows[at / width] * width + at % width]; });
}

// What the host knows of cached tokens, on the device.
struct Tables {
    const int64_t* starts;
    const int64_t* lengths;
    const int64_t* first;
};

class SentTables {
  public:
    explicit SentTables(const attention::Cached& cached)
        : starts_(sent(cached.starts)), lengths_(sent(cached.lengths)), first_(sent(cached.first)) {}
    Tables tables() const {
        return {static_cast<const int64_t*>(starts_.data()), static_cast<const int64_t*>(lengths_.data()),
                static_cast<const int64_t*>(first_.data())};
    }

  private:
    Buffer starts_;
    Buffer lengths_;
    Buffer first_;
};

// One group for each sequence and head.
template <typename T>
void score_cached(T* scores, const T* queries, const T* keys, const Tables& tables, int64_t batch, int64_t heads,
                  int64_t size, int64_t columns) {
    const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(size)));
    for_groups(batch * heads, kTile, 0, [=] DIOPI_KERNEL(Group & group, int64_t at) {
        const int64_t b = at / heads;
        const int64_t head = at % heads;
        const T* query = queries + at * size;
        const T* own = keys + (tables.first[b] * heads + head) * size;
        for (int64_t j = group.thread(); j < tables.lengths[b]; j += group.size()) {
            scores[head * columns + tables.starts[b] + j] = scale * dot<T>(query, own + j * heads * size, size);
        }
    });
}

template <typename T>
void add_values(T* sums, const T* scores, const T* values, const Tables& tables, int64_t batch, int64_t heads,
                int64_t size, int64_t columns) {
    for_groups(batch * heads, kTile, 0, [=] DIOPI_KERNEL(Group & group, int64_t at) {
        const int64_t b = at / heads;
        const int64_t head = at % heads;
        const T* row = scores + head * columns + tables.starts[b];
        const T* own = values + (tables.first[b] * heads + head) * size;
        T maximum = -std::numeric_limits<T>::infinity();
        for (int64_t j = group.thread(); j < tables.lengths[b]; j += group.size()) {
            maximum = row[j] > maximum ? row[j] : maximum;
        }
        maximum = group.reduce(maximum, [](T x, T y) { return y > x ? y : x; });
        T total = 0;
        for (int64_t j = group.thread(); j < tables.lengths[b]; j += group.size()) {
            total += numeric::exp(row[j] - maximum);
        }
        total = group.sum(total);
        for (int64_t d = group.thread(); d < size; d += group.size()) {
            T sum = 0;
            for (int64_t j = 0; j < tables.lengths[b]; ++j) {
                sum += numeric::exp(row[j] - maximum) / total * own[j * heads * size + d];
            }
            sums[at * size + d] = sum;
        }
    });
}

}  // namespace

}  // namespace diopi::cuda

namespace diopi::cpu::attention {

namespace {

// Rows of a tensor in row-major order, converted, side by side.
template <typename T>
Buffer rows_of(const Tensor& tensor, const std::vector<int64_t>& rows, int64_t width) {
    cuda::require_on_device(tensor);
    const Tensor* tensors[] = {&tensor};
    cuda::Operand from;
    const cuda::Dims dims = cuda::walk(tensor, tensors, &from, 1);
    const Buffer list = cuda::sent(rows);
    const auto count = static_cast<int64_t>(rows.size());
    Buffer gathered;
    gathered.allocate(count * width * static_cast<int64_t>(sizeof(T)));
    cuda::gather<T>(static_cast<T*>(gathered.data()), dims, from, static_cast<const int64_t*>(list.data()), count,
                    width);
    return gathered;
}

}  // namespace

void score_tokens(const Tensor& out, const Tensor& q, const Tensor& k, const Cached& cached) {
    dispatch_compute<kFloating>(q.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> queries(q);
        const Buffer keys = rows_of<T>(k, cached.slots, q.shape[1] * q.shape[2]);
        const cuda::SentTables sent(cached);
        const Changed scores(out, dtype_of<T>);
        cuda::score_cached<T>(scores.as<T>(), queries.data(), static_cast<const T*>(keys.data()), sent.tables(),
                              q.shape[0], q.shape[1], q.shape[2], out.shape[1]);
        scores.store();
    });
}

void sum_tokens(const Tensor& out, const Tensor& scores_tensor, const Tensor& v, const Cached& cached) {
    dispatch_compute<kFloating>(out.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> scores(scores_tensor);
        const Buffer values = rows_of<T>(v, cached.slots, out.shape[1] * out.shape[2]);
        const cuda::SentTables sent(cached);
        const Output<T> sums(out);
        cuda::add_values<T>(sums.data(), scores.data(), static_cast<const T*>(values.data()), sent.tables(),
                            out.shape[0], out.shape[1], out.shape[2], scores_tensor.shape[1]);
        sums.store();
    });
}

void attend(const Problem& problem, const Scoring& scoring, const Tensor& out, const Operands& operands, Rest rest) {
    const Changed sums(out, out.dtype);
    if (rest == Rest::kZero) {
        cuda::clear(sums.as<char>(), static_cast<size_t>(out.numel * size_of(out.dtype)));
    }
    cuda::attend(problem, scoring, operands, sums.as<char>(), {});
    sums.store();
}

void attend_to_rows(const Problem& problem, const Scoring& scoring, const Tensor& out, const Operands& operands,
                    const std::vector<int64_t>& rows) {
    const auto count = static_cast<int64_t>(rows.size());
    const int64_t width = problem.key_rows.row;
    const Buffer list = cuda::sent(rows);
    const auto gathered = [&](const Tensor& tensor, Buffer& buffer) {
        const Words words(tensor);
        buffer.allocate(count * width * size_of(tensor.dtype));
        const Tensor array = cuda::array_like(tensor, buffer.data(), tensor.dtype);
        dispatch_word(tensor.dtype, [&](auto word) {
            using W = decltype(word);
            cuda::gather_words<W>(static_cast<W*>(buffer.data()), words.as<W>(),
                                  static_cast<const int64_t*>(list.data()), count, width);
        });
        return View(array, {count, width}, {width, 1});
    };
    Buffer key_rows;
    Buffer value_rows;
    const View keys = gathered(operands.k, key_rows);
    const View values = gathered(operands.v, value_rows);
    const NewWords sums(out);
    cuda::attend(problem, scoring, Operands(operands.q, keys.tensor(), values.tensor()), sums.as<char>(), {});
    sums.store();
}

}  // namespace diopi::cpu::attention
