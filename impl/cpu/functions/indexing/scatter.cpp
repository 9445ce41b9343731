// Scatter with tensors and with numbers, and the gradient of Gather. Elements along `dim` are taken in rising order by
// one thread, so that sums do not depend on the number of threads and the last of repeated positions stays.
#include <diopi/functions.h>

#include "places.h"
#include "positions.h"

using namespace diopi::cpu;

namespace {

enum class Reduce { kNone, kAdd, kMultiply };

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
          places(shape_at_least_1d(input), shape_at_least_1d(index), at) {}

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
    Places places;
};

// Changes every named element of `target` by the value that `value(place in the index)` gives.
template <typename T, typename Value>
void change(const Tensor& target, const Job& job, Reduce reduce, Value&& value) {
    const Changed changed(target, dtype_of<T>);
    T* elements = changed.as<T>();
    if (reduce == Reduce::kAdd) {
        job.places.for_each(job.positions,
                            [&](int64_t to, int64_t from) { elements[to] = elements[to] + value(from); });
    } else if (reduce == Reduce::kMultiply) {
        job.places.for_each(job.positions,
                            [&](int64_t to, int64_t from) { elements[to] = elements[to] * value(from); });
    } else {
        job.places.for_each(job.positions, [&](int64_t to, int64_t from) { elements[to] = value(from); });
    }
    changed.store();
}

void scatter(const Tensor& target, const Tensor& input, int64_t dim, const Tensor& src, const Tensor& index,
             const char* reduce) {
    const Reduce kind = reduce_of(reduce);
    require_same_dtype(src, input);
    require_fits(index, src, -1);
    require_one_device({&target, &src});
    require_disjoint(target, src);
    const Job job(target, input, dim, index);
    // The elements of src that have an index.
    const std::vector<int64_t> strides(src.strides, src.strides + src.rank);
    const View part(src, src.rank == 0 ? std::vector<int64_t>{} : shape_at_least_1d(index), strides);
    copy_unless_same(target, input);
    if (kind == Reduce::kNone) {
        dispatch_word(target.dtype, [&](auto sample) {
            using W = decltype(sample);
            const Words source(part.tensor());
            const Changed changed(target, target.dtype);
            job.places.for_each(job.positions, [to = changed.as<W>(), from = source.as<W>()](int64_t a, int64_t b) {
                to[a] = from[b];
            });
            changed.store();
        });
        return;
    }
    dispatch_compute<kAny>(target.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> source(part.tensor());
        change<T>(target, job, kind, [&](int64_t i) { return source[i]; });
    });
}

void scatter(const Tensor& target, const Tensor& input, int64_t dim, const Number& value, const Tensor& index,
             const char* reduce) {
    const Reduce kind = reduce_of(reduce);
    const Job job(target, input, dim, index);
    copy_unless_same(target, input);
    dispatch_compute<kAny>(target.dtype, [&](auto sample) {
        using T = decltype(sample);
        const T number = value.as<T>();
        change<T>(target, job, kind, [&](int64_t) { return number; });
    });
}

}  // namespace

DIOPI_API diopiError_t diopiScatter(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                    diopiConstTensorHandle_t input, int64_t dim, diopiConstTensorHandle_t src,
                                    diopiConstTensorHandle_t index, const char* reduce) {
    return guarded("diopiScatter", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor src_tensor = tensor("src", src, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        scatter(out_tensor, input_tensor, dim, src_tensor, index_tensor, reduce);
    });
}

DIOPI_API diopiError_t diopiScatterInp(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t input, int64_t dim,
                                       diopiConstTensorHandle_t src, diopiConstTensorHandle_t index,
                                       const char* reduce) {
    return guarded("diopiScatterInp", [&] {
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor src_tensor = tensor("src", src, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        scatter(input_tensor, input_tensor, dim, src_tensor, index_tensor, reduce);
    });
}

DIOPI_API diopiError_t diopiScatterScalar(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                          diopiConstTensorHandle_t input, int64_t dim, const diopiScalar_t* value,
                                          diopiConstTensorHandle_t index, const char* reduce) {
    return guarded("diopiScatterScalar", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        const Number number = scalar("value", value, kNumber | kBool);
        scatter(out_tensor, input_tensor, dim, number, index_tensor, reduce);
    });
}

DIOPI_API diopiError_t diopiScatterInpScalar(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t input, int64_t dim,
                                             const diopiScalar_t* value, diopiConstTensorHandle_t index,
                                             const char* reduce) {
    return guarded("diopiScatterInpScalar", [&] {
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        const Number number = scalar("value", value, kNumber | kBool);
        scatter(input_tensor, input_tensor, dim, number, index_tensor, reduce);
    });
}

DIOPI_API diopiError_t diopiGatherBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                           diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                           int64_t dim, diopiConstTensorHandle_t index) {
    return guarded("diopiGatherBackward", [&] {
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
        dispatch_compute<kAllowed>(result.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> source(gradient);
            const Output<T> sums(result);
            std::fill_n(sums.data(), result.numel, T(0));
            job.places.for_each(job.positions, [&](int64_t to, int64_t from) { sums[to] = sums[to] + source[from]; });
            sums.store();
        });
    });
}
