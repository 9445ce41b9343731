// MaskedScatter and the gradient of MaskedSelect: elements of a vector, in order, to the places under a mask.
#include <diopi/functions.h>

#include <numeric>

#include "diopi_cpu/words.h"

using namespace diopi::cpu;

namespace {

constexpr int64_t kChunk = 65536;

// A mask in row-major order of a shape that it broadcasts to, and how many true elements stand before each chunk of it.
class Mask {
  public:
    Mask(const Tensor& mask, const std::vector<int64_t>& shape)
        : view_(expanded(mask, shape)), elements_(view_.tensor()), numel_(view_.tensor().numel) {
        before_.assign(static_cast<size_t>(chunks() + 1), 0);
        parallel_for(chunks(), 1, [&](int64_t begin, int64_t end) {
            for (int64_t chunk = begin; chunk < end; ++chunk) {
                for (int64_t i = chunk * kChunk; i < std::min(numel_, (chunk + 1) * kChunk); ++i) {
                    before_[chunk + 1] += bool(elements_[i]);
                }
            }
        });
        std::partial_sum(before_.begin(), before_.end(), before_.begin());
    }
    int64_t count() const { return before_.back(); }

    // Calls `body(place, number of the true element)` for the true elements.
    template <typename Body>
    void for_each(Body&& body) const {
        parallel_for(chunks(), 1, [&](int64_t begin, int64_t end) {
            for (int64_t chunk = begin; chunk < end; ++chunk) {
                int64_t number = before_[chunk];
                for (int64_t i = chunk * kChunk; i < std::min(numel_, (chunk + 1) * kChunk); ++i) {
                    if (elements_[i]) {
                        body(i, number++);
                    }
                }
            }
        });
    }

  private:
    int64_t chunks() const { return (numel_ + kChunk - 1) / kChunk; }

    View view_;
    Input<Bool> elements_;
    int64_t numel_;
    std::vector<int64_t> before_;
};

// Puts the elements of `source` under the mask into `target`.
void put(const Tensor& target, const Tensor& source, const Mask& mask) {
    dispatch_word(target.dtype, [&](auto sample) {
        using W = decltype(sample);
        const Words from(source);
        const Changed changed(target, target.dtype);
        mask.for_each([elements = changed.as<W>(), values = from.as<W>()](int64_t place, int64_t number) {
            elements[place] = values[number];
        });
        changed.store();
    });
}

void check(const Tensor& target, const Tensor& source, const Tensor& input, const Tensor& mask) {
    require_same_dtype(target, source);
    require_same_dtype(input, source);
    require_broadcast(target, {&input, &mask});
    require_one_device({&target, &source, &input, &mask});
    require_no_overlap(target);
    require_disjoint(target, source);
    require_disjoint(target, mask);
}

}  // namespace

DIOPI_API diopiError_t diopiMaskedScatter(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                          diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask,
                                          diopiConstTensorHandle_t source) {
    return guarded("diopiMaskedScatter", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor mask_tensor = tensor("mask", mask, kBool);
        const Tensor source_tensor = tensor("source", source, kAny);
        check(out_tensor, source_tensor, input_tensor, mask_tensor);
        require_no_overlap(out_tensor, input_tensor);
        const Mask places(mask_tensor, shape_of(out_tensor));
        if (source_tensor.numel < places.count()) {
            fail("parameter 'source' has " + std::to_string(source_tensor.numel) + " elements for " +
                 std::to_string(places.count()) + " true ones of 'mask'");
        }
        copy_unless_same(out_tensor, input_tensor);
        put(out_tensor, source_tensor, places);
    });
}

DIOPI_API diopiError_t diopiMaskedSelectBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                                 diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                                 diopiConstTensorHandle_t mask) {
    return guarded("diopiMaskedSelectBackward", [&] {
        const Tensor result = tensor("grad_input", grad_input, kFloating | kComplex);
        const Tensor gradient = tensor("grad_output", grad_output, kFloating | kComplex);
        const Tensor input_tensor = tensor("input", input, kFloating | kComplex);
        const Tensor mask_tensor = tensor("mask", mask, kBool);
        check(result, gradient, input_tensor, mask_tensor);
        require_no_overlap(result, input_tensor);
        const Mask places(mask_tensor, shape_of(result));
        require_shape(gradient, {places.count()});
        fill(result, Number::of(0));
        put(result, gradient, places);
    });
}
