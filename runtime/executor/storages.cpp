#include "storages.h"

#include <algorithm>

namespace diopigen::executor {

namespace {

/// Bytes of an answer besides its storages, as most have.
constexpr std::uint64_t kFields = 4096;

}  // namespace

void destroy(const Runtime& runtime, const std::vector<Storage>& storages) {
    for (const Storage& storage : storages) {
        if (storage.base != nullptr) {
            runtime.diopiHostDestroyTensor(storage.base);
        }
    }
}

Storages::~Storages() {
    destroy(device_.runtime(), storages_);
    destroy(device_.runtime(), earlier_);
    if (!is_copy_) {
        device_.pages().clear();
    }
}

void Storages::read(Reader& frame) {
    const auto count = frame.number<std::uint32_t>();
    if (!is_copy_) {
        read_pages(frame, count);
        return;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        read_copy(Content(frame));
    }
    destroy(device_.runtime(), std::exchange(earlier_, {}));
}

void Storages::write(Writer& answer) const {
    std::uint64_t bytes = kFields;
    for (const Storage& storage : storages_) {
        bytes += storage.pages == nullptr ? storage.bytes : 0;
    }
    answer.reserve(bytes);
    for (const Storage& storage : storages_) {
        if (storage.pages == nullptr) {
            device_.copy_from(storage.base, storage.bytes, answer);
        } else {
            answer.view(storage.pages, storage.bytes);
        }
    }
}

void Storages::read_pages(Reader& frame, std::uint32_t count) {
    std::vector<Content> contents;
    std::vector<std::size_t> sizes;
    for (std::uint32_t i = 0; i < count; ++i) {
        contents.emplace_back(frame);
        Storage one;
        one.bytes = contents[i].bytes();
        one.on_host = !device_.is_accelerator() || contents[i].is_on_host();
        storages_.push_back(one);
        sizes.push_back(one.on_host ? one.bytes : 0);
    }
    device_.pages().reserve(sizes);
    for (std::uint32_t i = 0; i < count; ++i) {
        storages_[i].on_host ? create_pages(storages_[i], contents[i]) : create_on_device(storages_[i], contents[i]);
    }
}

void Storages::create_pages(Storage& storage, const Content& content) {
    storage.pages = device_.pages().add(storage.bytes, content.is_writable());
    content.copy_to(storage.pages);
    const auto bytes = static_cast<std::int64_t>(storage.bytes);
    const diopiSize_t size{&bytes, 1};
    const Runtime& runtime = device_.runtime();
    runtime.require(
        runtime.diopiHostWrapMemory(device_.context(), &storage.base, storage.pages, storage.bytes, &size, nullptr, 0,
                                    static_cast<diopiDtype_t>(device_.byte_dtype()), diopi_host),
        "diopiHostWrapMemory");
}

void Storages::create_on_device(Storage& storage, const Content& content) {
    device_.pages().skip();
    std::vector<char> memory;
    storage.base = device_.created({static_cast<std::int64_t>(storage.bytes)}, nullptr, device_.byte_dtype(), false);
    device_.copy_to(storage.base, content.whole(&memory), storage.bytes);
}

void Storages::read_copy(const Content& content) {
    const std::uint64_t bytes = content.bytes();
    std::vector<char> memory;
    const char* from = content.whole(&memory);
    const std::string rotated = rotated_content(from, bytes);
    from = rotated.empty() ? from : rotated.data();
    const std::size_t index = storages_.size();
    const bool on_host = content.is_on_host();
    if (index < earlier_.size() && earlier_[index].bytes == bytes && earlier_[index].on_host == on_host) {
        storages_.push_back(std::exchange(earlier_[index], {}));
    } else {
        const std::vector<std::int64_t> shape{static_cast<std::int64_t>(bytes)};
        storages_.push_back({device_.created(shape, nullptr, device_.byte_dtype(), on_host), bytes, on_host, nullptr});
    }
    device_.copy_to(storages_.back().base, from, bytes);
}

/// The bytes of the next storage in this copy of the call; empty if they are those of the frame.
std::string Storages::rotated_content(const char* content, std::uint64_t bytes) const {
    for (const Rotation& rotation : rotations_) {
        if (rotation.storage != storages_.size()) {
            continue;
        }
        if (rotation.bytes == 0 || rotation.start > bytes || rotation.bytes > bytes - rotation.start) {
            throw Failed("protocol", "a rotation reaches beyond its storage");
        }
        std::string rotated(content, bytes);
        const auto from = rotated.begin() + static_cast<std::ptrdiff_t>(rotation.start);
        const std::uint64_t shift = number_ % rotation.bytes * rotation.step % rotation.bytes;
        std::rotate(from, from + static_cast<std::ptrdiff_t>(shift),
                    from + static_cast<std::ptrdiff_t>(rotation.bytes));
        return rotated;
    }
    return {};
}

}  // namespace diopigen::executor
