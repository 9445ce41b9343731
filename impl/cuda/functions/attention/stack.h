// Rows of heads as products of matrices take them: a batch of matrices that lie equally far apart.
#ifndef DIOPI_CUDA_ATTENTION_STACK_H_
#define DIOPI_CUDA_ATTENTION_STACK_H_

#include <cstdint>
#include <vector>

#include "diopi_core/dense.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/blas.h"

namespace diopigen::cuda {

// Where the rows are in a dense array, in elements: the heads of sequences, each with tokens, of each of which
// `heads_per_kv` rows belong to the head.
struct HeadRows {
    int64_t start;
    int64_t sequences;
    int64_t sequence_stride;
    int64_t heads;
    int64_t head_stride;
    int64_t tokens;
    int64_t token_stride;
    int64_t heads_per_kv;
    int64_t group_stride;
    int64_t size;

    std::vector<int64_t> shape() const { return {sequences, heads, tokens, heads_per_kv, size}; }
    std::vector<int64_t> strides() const { return {sequence_stride, head_stride, token_stride, group_stride, 1}; }
    int64_t numel() const { return sequences * heads * tokens * heads_per_kv * size; }
};

// A tensor like another over memory of its own dtype.
inline Tensor array_like(const Tensor& tensor, void* data, Dtype dtype) {
    Tensor array = tensor;
    array.data = data;
    array.dtype = dtype;
    return array;
}

// A matrix [tokens * heads_per_kv, size] for each pair of a sequence and a head, in place where the rows are laid out
// so already, else in memory of its own.
class Stack {
  public:
    // `array` is dense. Its shape does not matter.
    Stack(const Tensor& array, const HeadRows& rows) : rows_(rows), array_(array), offset_(rows.start) {
        const bool has_even_pairs =
            rows.sequences == 1 || rows.heads == 1 || rows.sequence_stride == rows.heads * rows.head_stride;
        const bool has_even_rows =
            rows.heads_per_kv == 1 || rows.tokens == 1 || rows.token_stride == rows.heads_per_kv * rows.group_stride;
        pair_stride_ = rows.heads == 1 ? rows.sequence_stride : rows.head_stride;
        stride_ = rows.heads_per_kv == 1 ? rows.token_stride : rows.group_stride;
        is_copy_ = !(has_even_pairs && has_even_rows);
        if (is_copy_) {
            buffer_.allocate(rows.numel() * size_of(array.dtype));
            array_.data = buffer_.data();
            offset_ = 0;
            stride_ = rows.size;
            pair_stride_ = rows.tokens * rows.heads_per_kv * rows.size;
        }
    }
    // Reads the rows where they are not read in place.
    void read(const Tensor& array) const {
        if (is_copy_) {
            copy_elements(contiguous_rows().tensor(),
                          View(array, rows_.shape(), rows_.strides(), rows_.start).tensor());
        }
    }
    // Brings the rows to the array where they were not written in place.
    void store(const Tensor& array) const {
        if (is_copy_) {
            copy_elements(View(array, rows_.shape(), rows_.strides(), rows_.start).tensor(),
                          contiguous_rows().tensor());
        }
    }
    // Matrices [count, size] from row `first` on.
    View rows(int64_t first, int64_t count) const {
        return View(array_, {pairs(), count, rows_.size}, {pair_stride_, stride_, 1}, offset_ + first * stride_);
    }
    // The same transposed: [size, count].
    View columns(int64_t first, int64_t count) const {
        return View(array_, {pairs(), rows_.size, count}, {pair_stride_, 1, stride_}, offset_ + first * stride_);
    }

  private:
    int64_t pairs() const { return rows_.sequences * rows_.heads; }
    View contiguous_rows() const {
        const int64_t token = rows_.heads_per_kv * rows_.size;
        const int64_t head = rows_.tokens * token;
        return View(array_, rows_.shape(), {rows_.heads * head, head, token, rows_.size, 1});
    }

    HeadRows rows_;
    Tensor array_;
    Buffer buffer_;
    int64_t offset_;
    int64_t pair_stride_;
    int64_t stride_;
    bool is_copy_;
};

// out = a b, or out += a b.
inline void multiply(const View& out, const View& a, const View& b, bool adds = false) {
    multiply_batch(out.tensor(), a.tensor(), b.tensor(), Number::of(1), Number::of(adds ? 1 : 0),
                   adds ? out.tensor() : Tensor());
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ATTENTION_STACK_H_
