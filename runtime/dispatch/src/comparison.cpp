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
      before_(ctx, operands, Fetch::all),
      copy_(ctx, operands, Fetch::all) {
    for (const HostTensor& tensor : before_.tensors()) {
        if (tensor.operand->direction != Direction::out) {
            terms_.add(tensor.info.numel, largestOf(tensor));
        }
    }
    for (const Operand& operand : operands) {
        if (operand.kind == Kind::allocated && operand.handles() != nullptr) {
            allocated_.push_back({&operand, operand.handles(), {}});
        } else if (operand.points && operand.isWritten() && operand.value() != nullptr) {
            Number number{const_cast<void*>(operand.value()), operand.width, operand.name, {}, {}};
            std::memcpy(number.before.data(), number.address, number.width);
            numbers_.push_back(number);
        }
    }
}

diopiError_t Comparison::callReference(Function reference, Caller call) {
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
    numberDifference_ = compareNumbers();
    for (const Number& number : numbers_) {
        std::memcpy(number.address, number.after.data(), number.width);
    }
    return status;
}

std::optional<std::string> Comparison::compare(Function reference, Caller call, diopiError_t status) {
    const diopiError_t expected = callReference(reference, call);
    std::optional<std::string> found;
    if (status != expected) {
        found = std::string("returns ") + nameOf(status) + ", reference " + nameOf(expected);
    } else if (status == diopiSuccess) {
        found = compareTensors();
        found = found ? found : numberDifference_;
        found = found ? found : compareAllocated();
    }
    releaseAllocated();
    return found;
}

std::optional<std::string> Comparison::compareTensors() {
    after_.emplace(ctx_, operands_, Fetch::all);
    for (size_t i = 0; i < copy_.tensors().size(); ++i) {
        const HostTensor& own = after_->tensors()[i];
        if (own.operand->isWritten()) {
            if (auto found = difference(own, copy_.tensors()[i], tolerance_, terms_)) {
                return found;
            }
        }
    }
    return std::nullopt;
}

std::optional<std::string> Comparison::compareNumbers() const {
    for (const Number& number : numbers_) {
        if (std::memcmp(number.address, number.after.data(), number.width) != 0) {
            return std::string(number.name) + " differs";
        }
    }
    return std::nullopt;
}

std::optional<std::string> Comparison::compareAllocated() {
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
            const Operand ownOperand{allocated.operand->name, Kind::tensor, Direction::inout, &own};
            const Operand otherOperand{allocated.operand->name, Kind::tensor, Direction::inout, &other};
            const HostCopy ownCopy(ctx_, Operands(&ownOperand, 1), Fetch::all);
            const HostCopy otherCopy(ctx_, Operands(&otherOperand, 1), Fetch::all);
            if (auto found = difference(ownCopy.tensors()[0], otherCopy.tensors()[0], tolerance_, terms_)) {
                return found;
            }
        }
    }
    return std::nullopt;
}

void Comparison::releaseAllocated() {
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
