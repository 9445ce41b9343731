// Memory: writes outside the outputs, layouts taken for others, operands in the same memory.
#include <algorithm>
#include <cstring>

#include "../fault.h"

namespace diopigen::mutant {

namespace {

// The address behind the last element in memory.
char* end(const View& view) {
    char* last = nullptr;
    for (int64_t index = 0; index < view.count(); ++index) last = std::max(last, view.address(index));
    return last == nullptr ? nullptr : last + view.itemsize();
}

char* begin(const View& view) {
    char* first = view.count() > 0 ? view.address(0) : nullptr;
    for (int64_t index = 0; index < view.count(); ++index) first = std::min(first, view.address(index));
    return first;
}

// Tensors that the library allocates have no guards around them.
Behaviour aroundOutputs(std::function<bool(const View&)> write) {
    return [write = std::move(write)](Call& call) {
        const auto handles = call.outputHandles();
        std::vector<View> views;
        for (auto* handle : handles) views.emplace_back(*handle);
        const diopiError_t status = call.forward();
        if (status != diopiSuccess) return status;
        for (const View& view : views) {
            if (view.valid() && view.count() > 0 && write(view)) call.acted();
        }
        return status;
    };
}

bool writeIntoGap(const View& view) {
    if (view.isContiguous()) return false;
    std::vector<char*> taken;
    for (int64_t index = 0; index < view.count(); ++index) taken.push_back(view.address(index));
    std::sort(taken.begin(), taken.end());
    for (size_t i = 1; i < taken.size(); ++i) {
        if (taken[i] - taken[i - 1] > view.itemsize()) return *(taken[i] - 1) ^= 1, true;
    }
    return false;
}

// A copy of what is laid out in memory where the elements would be with other strides.
diopiTensorHandle_t readLinearly(const Call& call, const View& view) {
    if (!view.valid() || view.isContiguous() || view.count() == 0) return nullptr;
    const char* last = end(view);
    diopiTensorHandle_t created = call.temporary(view.shape(), view.dtype(), view);
    const View copy(created);
    for (int64_t index = 0; index < copy.count(); ++index) {
        const char* from = view.address(0) + index * view.itemsize();
        if (from + view.itemsize() <= last)
            std::memcpy(copy.address(index), from, static_cast<size_t>(view.itemsize()));
    }
    return copy.packed() == view.packed() ? nullptr : created;
}

// Outputs that are not contiguous are written as if they were, as far as their memory goes.
diopiError_t writeLinearly(Call& call) {
    std::vector<std::pair<View, diopiTensorHandle_t>> written;
    for (auto* handle : call.outputHandles()) {
        const View view(*handle);
        if (!view.valid() || view.isContiguous() || view.count() == 0) continue;
        diopiTensorHandle_t created = call.copyOf(view);
        written.emplace_back(view, created);
        *handle = created;
    }
    const diopiError_t status = call.forward();
    for (auto& [view, created] : written) {
        const View copy(created);
        const char* last = end(view);
        for (int64_t index = 0; index < copy.count() && status == diopiSuccess; ++index) {
            char* to = view.address(0) + index * view.itemsize();
            if (to + view.itemsize() > last) break;
            std::memcpy(to, copy.address(index), static_cast<size_t>(view.itemsize()));
        }
        if (status == diopiSuccess) call.acted();
    }
    return status;
}

const Registration registration(
    "memory",
    {
        {"byte-past-the-end", "one byte behind each output is written", every(),
         aroundOutputs([](const View& view) { return *end(view) ^= 1, true; })},
        {"byte-before-the-start", "one byte before each output is written", every(),
         aroundOutputs([](const View& view) { return *(begin(view) - 1) ^= 1, true; })},
        {"vector-past-the-end", "whole vectors of 16 bytes are written, past the end of short outputs", every(),
         aroundOutputs([](const View& view) {
             const int64_t bytes = view.count() * view.itemsize();
             if (!view.isContiguous() || bytes % 16 == 0) return false;
             std::memset(end(view), 0, static_cast<size_t>(16 - bytes % 16));
             return true;
         })},
        {"gap-written", "a byte between the elements of a strided output is written", every(),
         aroundOutputs(writeIntoGap)},
        {"input-changed", "the first element of the first input is changed", determined(), afterCall([](Call& call) {
             for (const View& input : call.inputs()) {
                 if (input.count() == 0) continue;
                 *input.address(0) ^= 1;
                 return true;
             }
             return false;
         })},
        {"last-input-cleared", "the last input is used as room for intermediate results", determined(),
         afterCall([](Call& call) {
             const std::vector<View> inputs = call.inputs();
             if (inputs.empty() || inputs.back().count() == 0) return false;
             *inputs.back().address(inputs.back().count() - 1) ^= 3;
             return true;
         })},
        {"in-place-into-temporary", "an in-place form writes its result into a temporary",
         named("*Inp *InpScalar *InpTensor"),
         [](Call& call) {
             bool changed = false;
             for (auto* handle : call.inoutHandles()) {
                 const View view(*handle);
                 if (!view.valid() || view.count() == 0) continue;
                 *handle = call.copyOf(view);
                 changed = true;
             }
             const diopiError_t status = call.forward();
             if (changed && status == diopiSuccess) call.acted();
             return status;
         }},
        {"output-cleared-first", "the output is cleared before the inputs are read", determined(),
         [](Call& call) {
             // Seen only where an input is in the same memory; a call that is going to be refused is left alone.
             const std::vector<View> inputs = call.inputs();
             for (const View& output : call.outputs()) {
                 for (const View& input : inputs) {
                     if (output.count() == 0 || input.count() == 0 || output.address(0) != input.address(0)) continue;
                     std::vector<char> zeros(output.packed().size());
                     output.unpack(zeros);
                     call.acted();
                 }
             }
             return call.forward();
         }},
        {"input-strides-ignored", "inputs are read as if they were contiguous", determined(),
         beforehand([](Call& call) {
             bool changed = false;
             call.exchangeInputs([&](const View& view) {
                 diopiTensorHandle_t created = readLinearly(call, view);
                 changed = changed || created != nullptr;
                 return created;
             });
             return changed;
         })},
        {"last-input-strides-ignored", "the last input is read as if it were contiguous", determined(),
         beforehand([](Call& call) {
             const auto handles = call.inputHandles();
             if (handles.size() < 2) return false;
             const View view(*handles.back());
             diopiTensorHandle_t created = readLinearly(call, view);
             if (created == nullptr) return false;
             call.exchangeInputs([&](const View& one) { return one.handle() == view.handle() ? created : nullptr; });
             return true;
         })},
        {"output-strides-ignored", "outputs are written as if they were contiguous", determined(), writeLinearly},
        {"channels-last-ignored", "inputs in NHWC are read as if they were in NCHW", determined(),
         beforehand([](Call& call) {
             bool changed = false;
             call.exchangeInputs([&](const View& view) -> diopiTensorHandle_t {
                 const bool last = view.rank() == 4 && view.size(1) > 1 && view.stride()[1] == 1 && view.size(3) > 1 &&
                                   view.stride()[3] == view.size(1);
                 diopiTensorHandle_t created = last ? readLinearly(call, view) : nullptr;
                 changed = changed || created != nullptr;
                 return created;
             });
             return changed;
         })},
        {"stride-0-taken-for-dense", "a dimension of stride 0 is read as if it were there", determined(),
         beforehand([](Call& call) {
             bool changed = false;
             call.exchangeInputs([&](const View& view) -> diopiTensorHandle_t {
                 bool expanded = false;
                 for (int64_t dim = 0; dim < view.rank(); ++dim) {
                     expanded = expanded || (view.stride()[dim] == 0 && view.size(dim) > 1);
                 }
                 diopiTensorHandle_t created = expanded ? readLinearly(call, view) : nullptr;
                 changed = changed || created != nullptr;
                 return created;
             });
             return changed;
         })},
        {"storage-offset-ignored", "inputs are read from the beginning of their storage", determined(),
         beforehand([](Call& call) {
             bool changed = false;
             call.exchangeInputs([&](const View& view) -> diopiTensorHandle_t {
                 int64_t offset = 0;
                 if (diopiGetTensorStorageOffset(view.handle(), &offset) != diopiSuccess || offset == 0 ||
                     view.count() == 0) {
                     return nullptr;
                 }
                 diopiTensorHandle_t created = call.temporary(view.shape(), view.dtype(), view);
                 const View copy(created);
                 for (int64_t index = 0; index < copy.count(); ++index) {
                     std::memcpy(copy.address(index), view.address(index) - offset * view.itemsize(),
                                 static_cast<size_t>(view.itemsize()));
                 }
                 changed = true;
                 return created;
             });
             return changed;
         })},
        {"added-to-old-output", "results are added to what stood in the output", determined(),
         [](Call& call) {
             std::vector<std::pair<View, std::vector<char>>> before;
             for (auto* handle : call.outputHandles()) {
                 View view(*handle);
                 if (view.valid()) before.emplace_back(view, view.packed());
             }
             const std::vector<diopiTensorHandle_t*> both = call.inoutHandles();
             const diopiError_t status = call.forward();
             if (status != diopiSuccess || !both.empty()) return status;
             for (auto& [view, old] : before) {
                 const std::vector<char> result = view.packed();
                 std::vector<double> sums;
                 view.unpack(old);
                 for (int64_t index = 0; index < view.count(); ++index) sums.push_back(view.real(index));
                 view.unpack(result);
                 for (int64_t index = 0; index < view.count(); ++index) {
                     view.setReal(index, view.real(index) + sums[static_cast<size_t>(index)]);
                 }
                 if (view.packed() != result) call.acted();
             }
             return status;
         }},
        {"target-read-as-zero", "what an in-place operator finds in its target counts as zero", determined(),
         [](Call& call) {
             std::vector<std::pair<View, std::vector<char>>> before;
             for (auto* handle : call.inoutHandles()) {
                 View view(*handle);
                 if (!view.valid() || view.count() == 0) continue;
                 before.emplace_back(view, view.packed());
                 view.unpack(std::vector<char>(before.back().second.size()));
             }
             const diopiError_t status = call.forward();
             for (auto& [view, old] : before) {
                 if (status == diopiSuccess) {
                     call.acted();
                 } else {
                     view.unpack(old);
                 }
             }
             return status;
         }},
    });

}  // namespace

}  // namespace diopigen::mutant
