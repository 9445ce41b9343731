// Select and Slice, their gradients, and copies with one part replaced. All are copies between views.
#include <algorithm>

#include "diopi_core/raw_elements.h"
#include "indexing.h"

using namespace diopigen::core;

namespace {

View part_at(const Tensor& tensor, int64_t dim, int64_t index) {
    const int64_t at = wrap_dim(dim, tensor.rank);
    return selected(tensor, at, wrap_dim(index, shape_at_least_1d(tensor)[static_cast<size_t>(at)]));
}

// The part of a dimension that a slice takes, as Python reads start and end.
View sliced(const Tensor& tensor, int64_t dim, int64_t start, int64_t end, int64_t step) {
    const int64_t at = wrap_dim(dim, tensor.rank);
    const int64_t size = shape_at_least_1d(tensor)[static_cast<size_t>(at)];
    const auto clamped = [size](int64_t index) {
        const int64_t from_start = index < 0 ? index + size : index;
        return std::min(std::max<int64_t>(from_start, 0), size);
    };
    const int64_t first = clamped(start);
    const int64_t reach = std::max<int64_t>(clamped(end) - first, 0);
    return narrowed(tensor, at, first, reach / step + (reach % step != 0 ? 1 : 0), step);
}

void copy_part(const Tensor& out, const Tensor& input, const View& part) {
    require_disjoint(out, input);
    copy_elements(out, part.tensor());
}

// result = 0, where `part` of it is the gradient.
void embed_gradient(const Tensor& result, const Tensor& gradient, const View& part) {
    require_disjoint(result, gradient);
    fill(result, Number::of(0));
    copy_elements(part.tensor(), gradient);
}

// out = input, where `part` of out is `source`.
void replace_part(const Tensor& out, const Tensor& input, const Tensor& source, const View& part) {
    require_disjoint(out, source);
    copy_unless_same(out, input);
    copy_elements(part.tensor(), source);
}

}  // namespace

void diopigen::entry::select(const SelectArgs& args) {
    copy_part(args.out, args.input, part_at(args.input, args.dim, args.index));
}

void diopigen::entry::select_backward(const SelectBackwardArgs& args) {
    embed_gradient(args.grad_input, args.grad_output, part_at(args.grad_input, args.dim, args.index));
}

void diopigen::entry::select_scatter(const SelectScatterArgs& args) {
    replace_part(args.out, args.input, args.src, part_at(args.out, args.dim, args.index));
}

void diopigen::entry::slice(const SliceArgs& args) {
    copy_part(args.null_out, args.input, sliced(args.input, args.dim, args.start, args.end, args.step));
}

void diopigen::entry::slice_backward(const SliceBackwardArgs& args) {
    embed_gradient(args.grad_input, args.grad_output,
                   sliced(args.grad_input, args.dim, args.start, args.end, args.step));
}

void diopigen::entry::slice_scatter(const SliceScatterArgs& args) {
    replace_part(args.out, args.input, args.src, sliced(args.out, args.dim, args.start, args.end, args.step));
}
