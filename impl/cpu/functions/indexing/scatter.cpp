// Scatter with tensors and with numbers, and the gradient of Gather. Elements along `dim` are taken in rising order by
// one thread, so that sums do not depend on the number of threads and the last of repeated positions stays.
#include <diopi/functions.h>

#include "kernels.h"

using namespace diopi::cpu;

namespace {

Reduce reduce_of(const char* reduce) {
    require_text("reduce", reduce, {"", "add", "multiply"});
    return *reduce == '\0' ? Reduce::kNone : *reduce == 'a' ? Reduce::kAdd : Reduce::kMultiply;
}

[[noreturn]] void fail_size(const Tensor& index, const Tensor& other) {
    fail(std::string("parameter '") + index.name + "' has the shape " + shape_text(index.shape, index.rank) +
         ", which does not fit into " + shape_text(other.shape, other.rank) + " of parameter '" + other.name + "'");
}

// The index must have the rank of `other` and not be larger, but for one dimension (none where negative).
void require_fits(const Tensor& index, const Tensor& other, int64_t but_for) {
    if (index.numel == 0) {
        return;
    }
    const std::vector<int64_t> own = shape_at_least_1d(index);
    const std::vector<int64_t> room = shape_at_least_1d(other);
    if (own.size() != room.size()) {
        fail_size(index, other);
    }
    for (size_t d = 0; d < own.size(); ++d) {
        if (static_cast<int64_t>(d) != but_for && own[d] > room[d]) {
            fail_size(index, other);
        }
    }
}

// What all forms of Scatter check, and the positions.
struct Job {
    Job(const Tensor& target, const Tensor& input, int64_t dim, const Tensor& index)
        : at(checked(target, input, dim, index)),
          positions(index, shape_at_least_1d(input)[static_cast<size_t>(at)]),
          shape(shape_at_least_1d(index)) {}

    static int64_t checked(const Tensor& target, const Tensor& input, int64_t dim, const Tensor& index) {
        require_same_dtype(target, input);
        require_same_shape(target, input);
        const int64_t at = dimension("dim", dim, input.rank);
        require_fits(index, input, at);
        require_one_device({&target, &input, &index});
        require_no_overlap(target);
        require_no_overlap(target, input);
        require_disjoint(target, index);
        return at;
    }

    int64_t at;
    Positions positions;
    std::vector<int64_t> shape;  // of the index
};

void scatter(const Tensor& target, const Tensor& input, int64_t dim, const Tensor& src, const Tensor& index,
             const char* reduce) {
    const Reduce kind = reduce_of(reduce);
    require_same_dtype(src, input);
    require_fits(index, src, -1);
    require_one_device({&target, &src});
    require_disjoint(target, src);
    const Job job(target, input, dim, index);
    if (index.numel == 0) {
        copy_unless_same(target, input);
        return;
    }
    // The elements of src that have an index.
    const std::vector<int64_t> strides(src.strides, src.strides + src.rank);
    const View part(src, src.rank == 0 ? std::vector<int64_t>{} : shape_at_least_1d(index), strides);
    copy_unless_same(target, input);
    scatter_elements(target, part.tensor(), job.positions, job.shape, job.at, kind);
}

void scatter(const Tensor& target, const Tensor& input, int64_t dim, const Number& value, const Tensor& index,
             const char* reduce) {
    const Reduce kind = reduce_of(reduce);
    const Job job(target, input, dim, index);
    copy_unless_same(target, input);
    if (index.numel == 0) {
        return;
    }
    scatter_number(target, value, job.positions, job.shape, job.at, kind);
}

}  // namespace

DIOPI_API diopiError_t diopiScatter(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                    int64_t dim, diopiConstTensorHandle_t src, diopiConstTensorHandle_t index,
                                    const char* reduce) {
    return guarded("diopiScatter", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor src_tensor = tensor("src", src, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        scatter(out_tensor, input_tensor, dim, src_tensor, index_tensor, reduce);
    });
}

DIOPI_API diopiError_t diopiScatterInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, int64_t dim,
                                       diopiConstTensorHandle_t src, diopiConstTensorHandle_t index,
                                       const char* reduce) {
    return guarded("diopiScatterInp", ctx, [&] {
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor src_tensor = tensor("src", src, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        scatter(input_tensor, input_tensor, dim, src_tensor, index_tensor, reduce);
    });
}

DIOPI_API diopiError_t diopiScatterScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                          diopiConstTensorHandle_t input, int64_t dim, const diopiScalar_t* value,
                                          diopiConstTensorHandle_t index, const char* reduce) {
    return guarded("diopiScatterScalar", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        const Number number = scalar("value", value, kNumber | kBool);
        scatter(out_tensor, input_tensor, dim, number, index_tensor, reduce);
    });
}

DIOPI_API diopiError_t diopiScatterInpScalar(diopiContextHandle_t ctx, diopiTensorHandle_t input, int64_t dim,
                                             const diopiScalar_t* value, diopiConstTensorHandle_t index,
                                             const char* reduce) {
    return guarded("diopiScatterInpScalar", ctx, [&] {
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        const Number number = scalar("value", value, kNumber | kBool);
        scatter(input_tensor, input_tensor, dim, number, index_tensor, reduce);
    });
}

DIOPI_API diopiError_t diopiGatherBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                           diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                           int64_t dim, diopiConstTensorHandle_t index) {
    return guarded("diopiGatherBackward", ctx, [&] {
        constexpr DtypeSet kAllowed = kNumber | kComplex;
        const Tensor result = tensor("grad_input", grad_input, kAllowed);
        const Tensor gradient = tensor("grad_output", grad_output, kAllowed);
        const Tensor input_tensor = tensor("input", input, kAllowed);
        const Tensor index_tensor = tensor("index", index, kIndex);
        require_same_dtype(result, gradient);
        require_same_dtype(input_tensor, gradient);
        require_same_shape(result, input_tensor);
        require_same_shape(gradient, index_tensor);
        require_one_device({&result, &gradient, &input_tensor, &index_tensor});
        require_disjoint(result, gradient);
        require_no_overlap(result, input_tensor);
        const Job job(result, result, dim, index_tensor);
        if (index_tensor.numel == 0) {  // of any rank
            fill(result, Number::of(0));
            return;
        }
        gather_gradient(result, gradient, job.positions, job.shape, job.at);
    });
}
