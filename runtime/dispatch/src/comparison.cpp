#include "comparison.h"

#include <diopigen/host.h>

#include <algorithm>
#include <cstring>

#include "compare.h"
#include "operands.h"

namespace diopigen::dispatch {

Comparison::Comparison(diopiContextHandle_t ctx, Operands operands, Tolerance tolerance)
    : ctx_(ctx),
      operands_(operands),
      tolerance_(tolerance),
      before_(ctx, operands, Fetch::kAll),
      copy_(ctx, operands, Fetch::kAll) {
    for (const HostTensor& tensor : before_.tensors()) {
        if (tensor.operand->direction != Direction::kOut) {
            terms_.add(tensor.info.numel, largest_of(tensor));
        }
    }
    for (const Operand& operand : operands) {
        if (operand.kind == Kind::kAllocated && operand.handles() != nullptr) {
            allocated_.push_back({&operand, operand.handles(), {}});
        } else if (operand.points && operand.is_written() && operand.value() != nullptr) {
            Number number{const_cast<void*>(operand.value()), operand.width, operand.name, {}, {}};
            std::memcpy(number.before.data(), number.address, number.width);
            numbers_.push_back(number);
        }
    }
}

diopiError_t Comparison::call_reference(Function reference, Caller call) {
    for (Number& number : numbers_) {
        std::memcpy(number.after.data(), number.address, number.width);
        std::memcpy(number.address, number.before.data(), number.width);
    }
    for (AllocatedList& allocated : allocated_) {
        allocated.reference.assign(static_cast<size_t>(allocated.operand->count), nullptr);
        allocated.operand->handles() = allocated.reference.data();
    }
    copy_.substitute();
    const diopiError_t status = call(reference);
    copy_.restore();
    for (const AllocatedList& allocated : allocated_) {
        allocated.operand->handles() = allocated.original;
    }
    number_difference_ = compare_numbers();
    for (const Number& number : numbers_) {
        std::memcpy(number.address, number.after.data(), number.width);
    }
    return status;
}

std::optional<std::string> Comparison::compare(Function reference, Caller call, diopiError_t status) {
    const diopiError_t expected = call_reference(reference, call);
    std::optional<std::string> found;
    if (status != expected) {
        found = std::string("returns ") + name_of(status) + ", reference " + name_of(expected);
    } else if (status == diopiSuccess) {
        found = compare_tensors();
        found = found ? found : number_difference_;
        found = found ? found : compare_allocated();
    }
    release_allocated();
    return found;
}

std::optional<std::string> Comparison::compare_tensors() {
    after_.emplace(ctx_, operands_, Fetch::kAll);
    for (size_t i = 0; i < copy_.tensors().size(); ++i) {
        const HostTensor& own = after_->tensors()[i];
        if (own.operand->is_written()) {
            if (auto found = difference(own, copy_.tensors()[i], tolerance_, terms_)) {
                return found;
            }
        }
    }
    return std::nullopt;
}

std::optional<std::string> Comparison::compare_numbers() const {
    for (const Number& number : numbers_) {
        if (std::memcmp(number.address, number.after.data(), number.width) != 0) {
            return std::string(number.name) + " differs";
        }
    }
    return std::nullopt;
}

std::optional<std::string> Comparison::compare_allocated() {
    for (AllocatedList& allocated : allocated_) {
        for (size_t i = 0; i < allocated.reference.size(); ++i) {
            diopiTensorHandle_t own = allocated.original[i];
            diopiTensorHandle_t other = allocated.reference[i];
            if (own == nullptr || other == nullptr) {
                if (own != other) {
                    return std::string(allocated.operand->name) + (own == nullptr ? " is missing" : " is not expected");
                }
                continue;
            }
            const Operand own_operand{allocated.operand->name, Kind::kTensor, Direction::kInout, &own};
            const Operand other_operand{allocated.operand->name, Kind::kTensor, Direction::kInout, &other};
            const HostCopy own_copy(ctx_, Operands(&own_operand, 1), Fetch::kAll);
            const HostCopy other_copy(ctx_, Operands(&other_operand, 1), Fetch::kAll);
            if (auto found = difference(own_copy.tensors()[0], other_copy.tensors()[0], tolerance_, terms_)) {
                return found;
            }
        }
    }
    return std::nullopt;
}

void Comparison::release_allocated() {
    for (const AllocatedList& allocated : allocated_) {
        for (const diopiTensorHandle_t tensor : allocated.reference) {
            if (tensor != nullptr) {
                require(diopiHostReleaseTemporary(ctx_, tensor), "diopiHostReleaseTemporary");
            }
        }
    }
}

void Comparison::keep(Dump& dump) const {
    dump.keep("before", before_.tensors());
    if (after_) {
        dump.keep("after", after_->tensors());
    }
    dump.keep("reference", copy_.tensors());
}

}  // namespace diopigen::dispatch
