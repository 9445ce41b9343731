// Attention with caches and prompts.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "attention/decoding.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/operand.h"
#include "diopi_cuda/to_device.h"
#include "forward.h"

namespace diopigen::cuda {

namespace {

// What the host knows of cached tokens, on the device.
struct Tables {
    const int64_t* starts;
    const int64_t* lengths;
    const int64_t* first;
    const int64_t* slots;
};

class TablesOnDevice {
  public:
    explicit TablesOnDevice(const attention::Cached& cached)
        : starts_(to_device(cached.starts)),
          lengths_(to_device(cached.lengths)),
          first_(to_device(cached.first)),
          slots_(to_device(cached.slots)) {}
    Tables tables() const {
        return {static_cast<const int64_t*>(starts_.data()), static_cast<const int64_t*>(lengths_.data()),
                static_cast<const int64_t*>(first_.data()), static_cast<const int64_t*>(slots_.data())};
    }

  private:
    Buffer starts_;
    Buffer lengths_;
    Buffer first_;
    Buffer slots_;
};

constexpr int64_t kTokensOfPart = 1024;

// One group for each sequence, head and part of the tokens. Slots of the cache lie `stride` elements apart.
template <typename T, typename P>
void score_cached(T* scores, const P* queries, const P* keys, int64_t stride, const Tables& tables, int64_t batch,
                  int64_t heads, int64_t size, int64_t columns, int64_t parts) {
    const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(size)));
    for_groups(batch * heads * parts, kTile, 0, [=] DIOPI_KERNEL(Group & group, int64_t k_group) {
        const int64_t at = k_group / parts;
        const int64_t b = at / heads;
        const int64_t head = at % heads;
        const P* query = queries + at * size;
        const int64_t* slots = tables.slots + tables.first[b];
        const int64_t begin = k_group % parts * kTokensOfPart;
        const int64_t end = tables.lengths[b] < begin + kTokensOfPart ? tables.lengths[b] : begin + kTokensOfPart;
        for (int64_t j = begin + group.thread(); j < end; j += group.size()) {
            scores[head * columns + tables.starts[b] + j] =
                scale * dot<T>(query, keys + slots[j] * stride + head * size, size);
        }
    });
}

template <typename T, typename P>
void add_values(T* sums, const T* scores, const P* values, int64_t stride, const Tables& tables, int64_t batch,
                int64_t heads, int64_t size, int64_t columns) {
    for_groups(batch * heads, kTile, tile_bytes<T>(size, 1), [=] DIOPI_KERNEL(Group & group, int64_t at) {
        const int64_t b = at / heads;
        const int64_t head = at % heads;
        const int64_t length = tables.lengths[b];
        const T* row = scores + head * columns + tables.starts[b];
        const int64_t* slots = tables.slots + tables.first[b];
        T* exponentials = group.template shared<T>();
        T* own = exponentials + group.size();
        T maximum = -std::numeric_limits<T>::infinity();
        for (int64_t j = group.thread(); j < length; j += group.size()) {
            maximum = row[j] > maximum ? row[j] : maximum;
        }
        maximum = group.reduce(maximum, [](T x, T y) { return y > x ? y : x; });
        for (int64_t d = group.thread(); d < size; d += group.size()) {
            own[d] = 0;
        }
        T total = 0;
        for (int64_t start = 0; start < length; start += group.size()) {
            const int64_t j = start + group.thread();
            const T exponential = j < length ? numeric::exp(row[j] - maximum) : T(0);
            total += exponential;
            exponentials[group.thread()] = exponential;
            group.sync();
            const int64_t count = length - start < group.size() ? length - start : group.size();
            for (int64_t d = group.thread(); d < size; d += group.size()) {
                T sum = own[d];
                for (int64_t i = 0; i < count; ++i) {
                    sum += exponentials[i] * static_cast<T>(values[slots[start + i] * stride + head * size + d]);
                }
                own[d] = sum;
            }
            group.sync();
        }
        total = group.sum(total);
        for (int64_t d = group.thread(); d < size; d += group.size()) {
            sums[at * size + d] = length == 0 ? T(0) : own[d] / total;
        }
    });
}

// The slots of a cache [slots, heads, size] with contiguous heads: in place, or a copy.
class Cache {
  public:
    explicit Cache(const Tensor& tensor) {
        const int64_t size = tensor.shape[2];
        if (tensor.strides[2] == 1 && tensor.strides[1] == size) {
            require_on_device(tensor);
            data_ = tensor.data;
            stride_ = tensor.strides[0];
        } else {
            raw_ = std::make_unique<RawInput>(tensor);
            data_ = raw_->as<char>();
            stride_ = tensor.shape[1] * size;
        }
    }
    template <typename P>
    const P* as() const {
        return static_cast<const P*>(data_);
    }
    int64_t stride() const { return stride_; }

  private:
    std::unique_ptr<RawInput> raw_;
    const void* data_ = nullptr;
    int64_t stride_ = 0;
};

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core::attention {

namespace {

template <typename T, typename P>
void score_as(const Tensor& out, const Tensor& q, const Tensor& k, const Cached& cached) {
    const RawInput queries(q);
    const cuda::Cache keys(k);
    const cuda::TablesOnDevice on_device(cached);
    const Changed scores(out, dtype_of<T>);
    int64_t longest = 0;
    for (const int64_t length : cached.lengths) {
        longest = std::max(longest, length);
    }
    const int64_t parts = std::max<int64_t>(1, (longest + cuda::kTokensOfPart - 1) / cuda::kTokensOfPart);
    cuda::score_cached<T, P>(scores.as<T>(), queries.as<P>(), keys.as<P>(), keys.stride(), on_device.tables(),
                             q.shape[0], q.shape[1], q.shape[2], out.shape[1], parts);
    scores.store();
}

template <typename T, typename P>
void sum_as(const Tensor& out, const Tensor& scores_tensor, const Tensor& v, const Cached& cached) {
    const Input<T> scores(scores_tensor);
    const cuda::Cache values(v);
    const cuda::TablesOnDevice on_device(cached);
    const Output<T> sums(out);
    cuda::add_values<T, P>(sums.data(), scores.data(), values.as<P>(), values.stride(), on_device.tables(),
                           out.shape[0], out.shape[1], out.shape[2], scores_tensor.shape[1]);
    sums.store();
}

}  // namespace

void score_tokens(const Tensor& out, const Tensor& q, const Tensor& k, const Cached& cached) {
    switch (q.dtype) {
        case Dtype::kFloat16:
            return score_as<float, Half>(out, q, k, cached);
        case Dtype::kBfloat16:
            return score_as<float, Bfloat16>(out, q, k, cached);
        case Dtype::kFloat32:
            return score_as<float, float>(out, q, k, cached);
        default:
            return score_as<double, double>(out, q, k, cached);
    }
}

void sum_tokens(const Tensor& out, const Tensor& scores, const Tensor& v, const Cached& cached) {
    switch (v.dtype) {
        case Dtype::kFloat16:
            return sum_as<float, Half>(out, scores, v, cached);
        case Dtype::kBfloat16:
            return sum_as<float, Bfloat16>(out, scores, v, cached);
        case Dtype::kFloat32:
            return sum_as<float, float>(out, scores, v, cached);
        default:
            return sum_as<double, double>(out, scores, v, cached);
    }
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
    const RawOutput sums(out);
    cuda::attend(problem, scoring, operands, sums.as<char>(), {}, &rows);
    sums.store();
}

}  // namespace diopigen::core::attention
