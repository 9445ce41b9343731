// Attention one query at a time: what the variants of it share.
#pragma once

#include <cmath>
#include <cstdlib>
#include <functional>

#include "work.h"

namespace diopigen::variants {

// One query of one head: its scores, with -inf for keys that it does not see, and where its operands and results are.
struct Query {
    std::vector<float> scores;
    std::vector<int64_t> values;  // index of the first number of each key's value
    int64_t out = 0;              // index of the first number of the result
    int64_t logSum = 0;           // index of the logarithm of the sum of exponentials
};

// The forward functions FlashAttention and MultiHeadAttention, padded and of joined sequences, of halves and float32.
class Attention {
  public:
    explicit Attention(Work& work);

    // False for a call with dropout, whose results are random, and of float64.
    bool usable() const { return usable_; }
    int64_t headSize() const { return q_.size(-1); }
    const Array<float>& values() const { return v_; }
    diopiDtype_t dtype() const { return dtype_; }
    // Calls `body` for each query of each head.
    void forEachQuery(const std::function<void(const Query&)>& body) const;
    // Writes results and logarithms of sums.
    bool write(const std::vector<float>& out, const std::vector<float>& logSums) const;
    std::vector<float> resultsBefore() const;
    std::vector<float> logSumsBefore() const;

  private:
    struct Sequence {
        int64_t number, firstQuery, queries, firstKey, keys;
    };
    std::vector<Sequence> sequences() const;

    Work& work_;
    bool usable_ = false;
    diopiDtype_t dtype_;
    const char* outName_;
    Array<float> q_, k_, v_, slopes_;
    std::vector<int64_t> startsOfQueries_, startsOfKeys_;
    float scale_ = 1;
    int64_t left_ = -1, right_ = -1, longest_ = 0;
};

// A number in the dtype of the operands.
inline float throughDtype(float number, diopiDtype_t dtype) {
    if (dtype == diopi_dtype_float16) return static_cast<float>(mutant::throughFloat16(number));
    if (dtype == diopi_dtype_bfloat16) return static_cast<float>(mutant::throughBfloat16(number));
    return number;
}

}  // namespace diopigen::variants
