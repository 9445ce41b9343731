#include "copies.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace diopigen::executor {

void Copies::prepare(Reader& frame, const std::vector<void*>& functions) {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
        spare_.resize(std::max(spare_.size(), calls_.size()));
        spare_[i] = calls_[i]->release();
    }
    calls_.clear();
    next_ = 0;
    status_ = late_ = 0;
    device_.free_temporaries();
    const auto first = frame.number<std::uint64_t>();
    const auto count = frame.number<std::uint32_t>();
    const auto evicted = frame.number<std::uint64_t>();
    rotations_.resize(frame.number<std::uint32_t>());
    for (Rotation& rotation : rotations_) {
        rotation.storage = frame.number<std::uint32_t>();
        rotation.start = frame.number<std::uint64_t>();
        rotation.bytes = frame.number<std::uint64_t>();
        rotation.step = frame.number<std::uint64_t>();
    }
    const std::uint32_t index = frame.number<std::uint32_t>() & ~kElsewhere;  // copies run in the first thread
    void* const function = index < functions.size() ? functions[index] : nullptr;
    if (function == nullptr) {
        throw Failed("protocol", "a call of a function that the library does not have");
    }
    if (std::exchange(function_, function) != function) {
        free_spare();
    }
    spare_.resize(std::max<std::size_t>(spare_.size(), count));
    for (std::uint32_t i = 0; i < count; ++i) {
        Reader fields = frame;
        calls_.push_back(read_call(device_, library_, fields, first + i, rotations_, std::exchange(spare_[i], {})));
    }
    if (evicted > 0) {
        evict(evicted);
    }
}

Writer Copies::run(std::uint32_t count) {
    if (count > calls_.size() - next_) {
        throw Failed("protocol", "more calls than there are copies");
    }
    const std::size_t end = next_ + count;
    for (; next_ < end && status_ == diopiSuccess; ++next_) {
        status_ = calls_[next_]->make(function_);
    }
    if (count > 0 && late_ == diopiSuccess) {
        late_ = device_.runtime().diopiHostSynchronize(device_.context());
    }
    Writer answer;
    answer.number(status_);
    answer.number(late_);
    return answer;
}

Writer Copies::read(std::uint32_t index) {
    Writer answer = calls_.at(index)->answer(status_, late_, 0.0);
    std::fflush(nullptr);
    return answer;
}

void Copies::free_spare() {
    for (const std::vector<Storage>& storages : std::exchange(spare_, {})) {
        destroy(device_.runtime(), storages);
    }
}

/// A copy reads and writes: glibc writes large ones past the caches of a host, so that what it reads has to fill them.
void Copies::evict(std::uint64_t bytes) {
    if (scratch_.size() != bytes) {
        scratch_.assign(bytes, 1);
    }
    const Runtime& runtime = device_.runtime();
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(bytes)};
    const diopiSize_t size{shape.data(), 1};
    diopiTensorHandle_t target = nullptr;
    runtime.require(runtime.diopiHostCreateTensor(device_.context(), &target, &size, nullptr, 0,
                                                  static_cast<diopiDtype_t>(device_.byte_dtype()),
                                                  device_.is_accelerator() ? diopi_device : diopi_host),
                    "diopiHostCreateTensor");
    const diopiError_t status =
        runtime.diopiHostCopyToStorage(device_.context(), target, scratch_.data(), scratch_.size());
    runtime.require(runtime.diopiHostDestroyTensor(target), "diopiHostDestroyTensor");
    runtime.require(status, "diopiHostCopyToStorage");
}

}  // namespace diopigen::executor
