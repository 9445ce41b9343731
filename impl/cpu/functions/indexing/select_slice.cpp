// Select and Slice, their gradients, and copies with one part replaced. All are copies between views.
#include <diopi/functions.h>

#include "positions.h"

using namespace diopi::cpu;

namespace {

// The part of a dimension that a slice takes, as Python reads start and end.
struct Range {
    int64_t dim = 0;
    int64_t start = 0;
    int64_t length = 0;
    int64_t step = 1;
};

int64_t dimension_at_least_1d(int64_t dim, int64_t rank) {
    require(rank > 0, "'input' or 'input_sizes' is 0-d and has no dimension 'dim' to take a part of");
    return dimension("dim", dim, rank);
}

Range range(const std::vector<int64_t>& shape, int64_t dim, int64_t start, int64_t end, int64_t step) {
    Range result;
    result.dim = dimension_at_least_1d(dim, static_cast<int64_t>(shape.size()));
    require(step >= 1, "parameter 'step' is less than 1");
    const int64_t size = shape[static_cast<size_t>(result.dim)];
    const auto clamped = [size](int64_t place) {
        const int64_t from_start = place < 0 ? place + size : place;
        return std::min(std::max<int64_t>(from_start, 0), size);
    };
    result.start = clamped(start);
    result.step = step;
    const int64_t reach = std::max<int64_t>(clamped(end) - result.start, 0);
    result.length = reach / step + (reach % step != 0 ? 1 : 0);
    return result;
}

View sliced(const Tensor& tensor, const Range& range) {
    return narrowed(tensor, range.dim, range.start, range.length, range.step);
}

// Checks an output and the tensor that part of it comes from.
void require_pair(const Tensor& out, const Tensor& source, const std::vector<int64_t>& source_shape) {
    require_same_dtype(out, source);
    require_shape(source, source_shape);
    require_one_device({&out, &source});
    require_no_overlap(out);
    require_disjoint(out, source);
}

// out = input, where `part(out)` is `source`.
template <typename Part>
void replace_part(const Tensor& out, const Tensor& input, const Tensor& source, Part&& part) {
    require_same_dtype(out, input);
    require_same_shape(out, input);
    const View target = part(out);
    require_pair(out, source, shape_of(target.tensor()));
    require_one_device({&out, &input, &source});
    require_no_overlap(out, input);
    copy_unless_same(out, input);
    copy_elements(target.tensor(), source);
}

}  // namespace

DIOPI_API diopiError_t diopiSelect(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   int64_t dim, int64_t index) {
    return guarded("diopiSelect", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const int64_t at = dimension_at_least_1d(dim, input_tensor.rank);
        const View part = selected(input_tensor, at, position("index", index, input_tensor.shape[at]));
        require_same_dtype(out_tensor, input_tensor);
        require_shape(out_tensor, shape_of(part.tensor()));
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, input_tensor);
        copy_elements(out_tensor, part.tensor());
    });
}

DIOPI_API diopiError_t diopiSelectBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                           diopiConstTensorHandle_t grad_output, diopiSize_t input_sizes, int64_t dim,
                                           int64_t index) {
    return guarded("diopiSelectBackward", ctx, [&] {
        const Tensor result = tensor("grad_input", grad_input, kAny);
        const Tensor gradient = tensor("grad_output", grad_output, kAny);
        const std::vector<int64_t> shape = sizes_of("input_sizes", input_sizes);
        const int64_t at = dimension_at_least_1d(dim, input_sizes.len);
        const int64_t place = position("index", index, input_sizes.data[at]);
        require_shape(result, shape);
        const View part = selected(result, at, place);
        require_pair(result, gradient, shape_of(part.tensor()));
        fill(result, Number::of(0));
        copy_elements(part.tensor(), gradient);
    });
}

DIOPI_API diopiError_t diopiSelectScatter(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                          diopiConstTensorHandle_t input, diopiConstTensorHandle_t src, int64_t dim,
                                          int64_t index) {
    return guarded("diopiSelectScatter", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor src_tensor = tensor("src", src, kAny);
        const int64_t at = dimension_at_least_1d(dim, input_tensor.rank);
        const int64_t place = position("index", index, input_tensor.shape[at]);
        replace_part(out_tensor, input_tensor, src_tensor,
                     [&](const Tensor& whole) { return selected(whole, at, place); });
    });
}

DIOPI_API diopiError_t diopiSlice(diopiContextHandle_t ctx, diopiTensorHandle_t null_out,
                                  diopiConstTensorHandle_t input, int64_t dim, int64_t start, int64_t end,
                                  int64_t step) {
    return guarded("diopiSlice", ctx, [&] {
        const Tensor out_tensor = tensor("null_out", null_out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const View part = sliced(input_tensor, range(shape_of(input_tensor), dim, start, end, step));
        require_same_dtype(out_tensor, input_tensor);
        require_shape(out_tensor, shape_of(part.tensor()));
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, input_tensor);
        copy_elements(out_tensor, part.tensor());
    });
}

DIOPI_API diopiError_t diopiSliceBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                          diopiConstTensorHandle_t grad_output, diopiSize_t input_sizes, int64_t dim,
                                          int64_t start, int64_t end, int64_t step) {
    return guarded("diopiSliceBackward", ctx, [&] {
        const Tensor result = tensor("grad_input", grad_input, kAny);
        const Tensor gradient = tensor("grad_output", grad_output, kAny);
        const std::vector<int64_t> shape = sizes_of("input_sizes", input_sizes);
        const Range taken = range(shape, dim, start, end, step);
        require_shape(result, shape);
        const View part = sliced(result, taken);
        require_pair(result, gradient, shape_of(part.tensor()));
        fill(result, Number::of(0));
        copy_elements(part.tensor(), gradient);
    });
}

DIOPI_API diopiError_t diopiSliceScatter(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t src, int64_t dim,
                                         int64_t start, int64_t end, int64_t step) {
    return guarded("diopiSliceScatter", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor src_tensor = tensor("src", src, kAny);
        const Range taken = range(shape_of(input_tensor), dim, start, end, step);
        replace_part(out_tensor, input_tensor, src_tensor, [&](const Tensor& whole) { return sliced(whole, taken); });
    });
}
