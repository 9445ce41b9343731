// Any and All: whether elements differ from zero (NaN does).
#include <diopi/functions.h>

#include <cstring>

#include "diopi_cpu/reduction.h"

using namespace diopi::cpu;

namespace {

// Whether a byte of the wanted sort (0 for All, 1 for Any) occurs decides each row.
void search(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const int64_t* dim, bool is_any) {
    const Tensor out_tensor = tensor("out", out, kMask);
    const Tensor input_tensor = tensor("input", input, kAny);
    const Rows rows = rows_over(input_tensor, "dim", dim);
    require_reduced(out_tensor, input_tensor, rows, KeepDim::kEither);
    require_one_device({&out_tensor, &input_tensor});
    require_no_overlap(out_tensor);
    require_disjoint(out_tensor, input_tensor);
    const View view = permuted(input_tensor, rows.order());
    const Input<Bool> data(view.tensor());
    const Output<Bool> result(out_tensor);
    parallel_for(rows.count, row_grain(rows.length), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const Bool* values = data.data() + row * rows.length;
            const bool occurs = std::memchr(values, is_any ? 1 : 0, static_cast<size_t>(rows.length)) != nullptr;
            result[row] = Bool(occurs == is_any);
        }
    });
    result.store();
}

}  // namespace

DIOPI_API diopiError_t diopiAny(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                const int64_t* dim) {
    return guarded("diopiAny", [&] { search(out, input, dim, true); });
}

DIOPI_API diopiError_t diopiAll(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                const int64_t* dim) {
    return guarded("diopiAll", [&] { search(out, input, dim, false); });
}
