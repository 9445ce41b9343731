// Argsort, and the gradient of operators that pick elements along a dimension. The order of equals is kept in any case.
#include <diopi/functions.h>

#include <algorithm>
#include <vector>

#include "diopi_cpu/math.h"
#include "diopi_cpu/words.h"

using namespace diopi::cpu;

namespace {

template <typename T>
struct Placed {
    T value;
    int64_t place;
};

// Whether a comes before b among elements in rising order: NaN is above all numbers.
template <typename T>
bool is_below(T a, T b) {
    return a < b || (isnan(b) && !isnan(a));
}

}  // namespace

DIOPI_API diopiError_t diopiArgsort(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                    diopiConstTensorHandle_t input, bool /*stable*/, const int64_t* dim,
                                    bool descending) {
    return guarded("diopiArgsort", [&] {
        const Tensor out_tensor = tensor("out", out, kIndex);
        const Tensor input_tensor = tensor("input", input, kNumber | kBool);
        const int64_t at = dimension("dim", dim == nullptr ? -1 : *dim, input_tensor.rank);
        require_same_shape(out_tensor, input_tensor);
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, input_tensor);
        const Rows rows = rows_over(input_tensor, "dim", &at);
        const View from = permuted(input_tensor, rows.order());
        const View to = permuted(out_tensor, rows.order());
        dispatch_compute<kNumber | kBool>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> source(from.tensor());
            const Output<Int64> places(to.tensor());
            parallel_for(rows.length > 0 ? rows.count : 0, row_grain(16 * rows.length),
                         [&](int64_t begin, int64_t end) {
                             std::vector<Placed<T>> row(static_cast<size_t>(rows.length));
                             for (int64_t k = begin; k < end; ++k) {
                                 for (int64_t i = 0; i < rows.length; ++i) {
                                     row[i] = {source[k * rows.length + i], i};
                                 }
                                 std::stable_sort(row.begin(), row.end(), [&](const Placed<T>& a, const Placed<T>& b) {
                                     return descending ? is_below(b.value, a.value) : is_below(a.value, b.value);
                                 });
                                 for (int64_t i = 0; i < rows.length; ++i) {
                                     places[k * rows.length + i] = Int64(row[i].place);
                                 }
                             }
                         });
            places.store();
        });
    });
}
