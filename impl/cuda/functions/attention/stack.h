// Rows of heads as products of matrices take them: a batch of matrices that lie equally far apart.
#ifndef DIOPI_CUDA_ATTENTION_STACK_H_
#define DIOPI_CUDA_ATTENTION_STACK_H_

#include <cstdint>
#include <vector>

#include "diopi_core/dense.h"
#include "diopi_core/words.h"
#include "diopi_cuda/blas.h"

namespace diopi::cuda {

// Where the rows are in a dense array, in elements: the heads of sequences, each with tokens, of each of which
// `shared_by` rows belong to the head.
struct HeadRows {
    int64_t start;
    int64_t sequences;
    int64_t sequence_step;
    int64_t heads;
    int64_t head_step;
    int64_t tokens;
    int64_t token_step;
    int64_t shared_by;
    int64_t shared_step;
    int64_t size;

    std::vector<int64_t> shape() const { return {sequences, heads, tokens, shared_by, size}; }
    std::vector<int64_t> steps() const { return {sequence_step, head_step, token_step, shared_step, 1}; }
    int64_t numel() const { return sequences * heads * tokens * shared_by * size; }
};

// A tensor like another over memory of its own dtype.
inline Tensor array_like(const Tensor& tensor, void* data, Dtype dtype) {
    Tensor array = tensor;
    array.data = data;
    array.dtype = dtype;
    return array;
}

// A matrix [tokens * shared_by, size] for each pair of a sequence and a head, in place where the rows are laid out so
// already, else in memory of its own.
class Stack {
  public:
    // `array` is dense. Its shape does not matter.
    Stack(const Tensor& array, const HeadRows& rows) : rows_(rows), array_(array), offset_(rows.start) {
        const bool has_even_pairs =
            rows.sequences == 1 || rows.heads == 1 || rows.sequence_step == rows.heads * rows.head_step;
        const bool has_even_rows =
            rows.shared_by == 1 || rows.tokens == 1 || rows.token_step == rows.shared_by * rows.shared_step;
        pair_step_ = rows.heads == 1 ? rows.sequence_step : rows.head_step;
        step_ = rows.shared_by == 1 ? rows.token_step : rows.shared_step;
        is_copy_ = !(has_even_pairs && has_even_rows);
        if (is_copy_) {
            buffer_.allocate(rows.numel() * size_of(array.dtype));
            array_.data = buffer_.data();
            offset_ = 0;
            step_ = rows.size;
            pair_step_ = rows.tokens * rows.shared_by * rows.size;
        }
    }
    // Reads the rows where they are not read in place.
    void read(const Tensor& array) const {
        if (is_copy_) {
            copy_elements(whole().tensor(), View(array, rows_.shape(), rows_.steps(), rows_.start).tensor());
        }
    }
    // Brings the rows to the array where they were not written in place.
    void store(const Tensor& array) const {
        if (is_copy_) {
            copy_elements(View(array, rows_.shape(), rows_.steps(), rows_.start).tensor(), whole().tensor());
        }
    }
    // Matrices [count, size] from row `first` on.
    View rows(int64_t first, int64_t count) const {
        return View(array_, {pairs(), count, rows_.size}, {pair_step_, step_, 1}, offset_ + first * step_);
    }
    // The same transposed: [size, count].
    View columns(int64_t first, int64_t count) const {
        return View(array_, {pairs(), rows_.size, count}, {pair_step_, 1, step_}, offset_ + first * step_);
    }

  private:
    int64_t pairs() const { return rows_.sequences * rows_.heads; }
    View whole() const {
        const int64_t token = rows_.shared_by * rows_.size;
        const int64_t head = rows_.tokens * token;
        return View(array_, rows_.shape(), {rows_.heads * head, head, token, rows_.size, 1});
    }

    HeadRows rows_;
    Tensor array_;
    Buffer buffer_;
    int64_t offset_;
    int64_t pair_step_;
    int64_t step_;
    bool is_copy_;
};

// out = a b, or out += a b.
inline void multiply(const View& out, const View& a, const View& b, bool adds = false) {
    multiply_batch(out.tensor(), a.tensor(), b.tensor(), Number::of(1), Number::of(adds ? 1 : 0),
                   adds ? out.tensor() : Tensor());
}

}  // namespace diopi::cuda

#endif  // DIOPI_CUDA_ATTENTION_STACK_H_
