// What the forms of attention make of their operands, which satisfy the contracts.
#ifndef DIOPI_CORE_FUNCTIONS_ATTENTION_OPERANDS_H_
#define DIOPI_CORE_FUNCTIONS_ATTENTION_OPERANDS_H_

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "attention_problem.h"
#include "diopi_core/dense.h"
#include "diopi_core/tensor.h"

namespace diopigen::core::attention {

constexpr DtypeSet kHalves = kFloat16 | kBfloat16;

// Queries, keys and values of one dtype.
struct Operands {
    Tensor q;
    Tensor k;
    Tensor v;
};

// [batch, tokens, heads, size] each.
Problem padded_problem(const Operands& operands);
// [tokens of all sequences, heads, size] each. `query_ends` and `key_ends` hold, for each sequence, the row behind its
// last one; they have been checked.
Problem joined_problem(const Operands& operands, const std::vector<int64_t>& query_ends,
                       const std::vector<int64_t>& key_ends);

// Sets what comes before each sequence.
void number_rows(Problem& problem);
int64_t probability_count(const Problem& problem);

// The elements of a tensor of indices in order.
std::vector<int64_t> indices(const Tensor& tensor);
// Fails with `message` unless the ends rise from 0 to `total`, and with the second unless no sequence is longer than
// `longest`.
void require_ends(const std::vector<int64_t>& ends, int64_t total, const char* message, int64_t longest,
                  const char* longest_message);
// The limit of this library for dimensions, with which products of two stay in an int64.
void require_countable(std::initializer_list<int64_t> sizes);

// Windows as the operators take them: `is_causal` hides all later keys.
void set_window(Scoring& scoring, bool is_causal, int64_t left, int64_t right);
// Slopes of shape [heads] or [batch, heads], or a null tensor.
void set_slopes(Scoring& scoring, const Tensor& slopes, const Input<float>& values);
// A mask that broadcasts to [batch, heads, queries, keys], or a null tensor. Its bytes are read where they lie.
void set_mask(Scoring& scoring, const Tensor& mask);

// Reads the state of a generator that the constructor has found to be there; `advance` moves it on.
class DropoutState {
  public:
    DropoutState(diopiGeneratorHandle_t generator, double probability);
    const Dropout& dropout() const { return dropout_; }
    void advance() const;

  private:
    diopiGeneratorHandle_t generator_;
    Dropout dropout_;
};

// Outputs overlap with nothing else. Null tensors do not count.
void require_separate(std::initializer_list<const Tensor*> written, std::initializer_list<const Tensor*> read);

// Rows of `width` elements each of a tensor in row-major order, converted.
template <typename T>
std::vector<T> gather_rows(const Tensor& tensor, const std::vector<int64_t>& rows, int64_t width);

}  // namespace diopigen::core::attention

#endif  // DIOPI_CORE_FUNCTIONS_ATTENTION_OPERANDS_H_
