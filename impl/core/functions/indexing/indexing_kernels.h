// What indexing operators do to elements.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_INDEXING_INDEXING_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_INDEXING_INDEXING_KERNELS_H_

#include "positions.h"

namespace diopigen::core {

// ---- IndexSelect, Gather, Embedding. ----

// Refuses positions outside of [0, size) with the message.
void require_positions(const Input<Int64>& index, int64_t count, int64_t size, const char* message);
// Dimension `at` of `input` is replaced by the positions.
void pick(const Tensor& out, const Tensor& input, const Input<Int64>& positions, int64_t count, const DimSplit& split);
// Along dimension `at`.
void gather_elements(const Tensor& out_tensor, const Tensor& input_tensor, const Input<Int64>& positions,
                     const Tensor& index_tensor, int64_t at);

// ---- Gradients: slice k of `gradient` is added to slice positions[k] of `result`, which holds nothing yet. ----

void add_up_slices(const Tensor& result, const Tensor& gradient, const Positions& positions, const DimSplit& split);
void add_up_rows(const Tensor& out_tensor, const Tensor& grad_tensor, const Positions& rows, int64_t padding_idx,
                 bool scale_grad_byfreq);

// ---- IndexFill. ----

// target = input, then the slices at the positions become `value`.
void fill_slices_at(const Tensor& target, const Tensor& input, const Positions& positions, const DimSplit& split,
                    const Number& value);
// The same with the only element of a tensor of a number dtype or bool.
void fill_slices_with(const Tensor& target, const Tensor& input, const Positions& positions, const DimSplit& split,
                      const Tensor& value);

// ---- OneHot. ----

// The largest of the classes, or -1 where one is negative. There is at least one.
int64_t largest_class(const Tensor& classes);
// In each row of `out` an element at the position is 1, the others are 0.
void mark_classes(const Tensor& out, const Positions& positions);

// ---- EmbeddingRenorm_. ----

// Rows of the table whose norm is larger come to have this norm. No other row is written.
void cut_rows(const Tensor& table, const Positions& positions, double max_norm, double order);

// ---- Scatter: elements along dimension `at` are taken in rising order, so that the last of repeated positions stays.
// `shape` is that of the positions. ----

enum class Reduce { kNone, kAdd, kMultiply };

void scatter_elements(const Tensor& target, const Tensor& source_tensor, const Positions& positions,
                      const std::vector<int64_t>& shape, int64_t at, Reduce kind);
void scatter_number(const Tensor& target, const Number& value, const Positions& positions,
                    const std::vector<int64_t>& shape, int64_t at, Reduce kind);
void gather_gradient(const Tensor& result, const Tensor& gradient, const Positions& positions,
                     const std::vector<int64_t>& shape, int64_t at);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_INDEXING_INDEXING_KERNELS_H_
