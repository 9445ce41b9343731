#include "session.h"

#include <diopigen/host.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <algorithm>
#include <limits>
#include <string>

#include "failure.h"
#include "values.h"

namespace diopigen::ffi {
namespace {

/// Bytes from the first element to the end of the last one.
uint64_t reached_bytes(const DLTensor& tensor) {
    const uint64_t item = (static_cast<uint64_t>(tensor.dtype.bits) * tensor.dtype.lanes + 7) / 8;
    uint64_t reached = 1;
    bool overflows = false;
    for (int32_t k = 0; k < tensor.ndim; ++k) {
        const int64_t size = tensor.shape[k];
        if (size < 0) {
            throw Failure{"ValueError", "dimension " + std::to_string(k) + " has the size " + std::to_string(size)};
        }
        if (size == 0) {
            return 0;
        }
        if (tensor.strides == nullptr) {
            overflows |= __builtin_mul_overflow(reached, static_cast<uint64_t>(size), &reached);
            continue;
        }
        if (tensor.strides[k] < 0) {
            throw Failure{"ValueError", "the stride of dimension " + std::to_string(k) + " is negative"};
        }
        uint64_t span = 0;
        overflows |=
            __builtin_mul_overflow(static_cast<uint64_t>(size - 1), static_cast<uint64_t>(tensor.strides[k]), &span) ||
            __builtin_add_overflow(reached, span, &reached);
    }
    overflows |= __builtin_mul_overflow(reached, item, &reached);
    if (overflows || reached > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        throw Failure{"ValueError", "the tensor is larger than memory can be"};
    }
    return reached;
}

void* first_element(const DLTensor& tensor) {
    return tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset;
}

/// Whether they differ in the pointer at most.
bool is_laid_out(const Wrapped& entry, const DLTensor& tensor, diopiDevice_t device) {
    const auto rank = static_cast<size_t>(tensor.ndim);
    return entry.handle != nullptr && entry.device == device && entry.rank == tensor.ndim &&
           entry.dtype.code == tensor.dtype.code && entry.dtype.bits == tensor.dtype.bits &&
           entry.dtype.lanes == tensor.dtype.lanes && entry.has_strides == (tensor.strides != nullptr) &&
           std::equal(tensor.shape, tensor.shape + rank, entry.dimensions.begin()) &&
           (tensor.strides == nullptr ||
            std::equal(tensor.strides, tensor.strides + rank, entry.dimensions.begin() + Wrapped::kMostDimensions));
}

size_t hash_of(const DLTensor& tensor) {
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;
    uint64_t hash = (tensor.dtype.code * 256u + tensor.dtype.bits) * kOdd;
    for (int32_t k = 0; k < tensor.ndim; ++k) {
        hash = (hash ^ static_cast<uint64_t>(tensor.shape[k])) * kOdd;
    }
    return static_cast<size_t>(hash >> 48);
}

/// An index below twice the count.
size_t wrapped_around(size_t index, size_t count) { return index < count ? index : index - count; }

/// Puts the handle over the memory of a tensor with its layout. False where an operator has kept its storage, in a view
/// that was handed out.
bool put_over(Wrapped& entry, const DLTensor& tensor) {
    void* const data = first_element(tensor);
    if (diopiHostSetWrappedMemory(entry.handle, data, reached_bytes(tensor)) != diopiSuccess) {
        return false;
    }
    entry.data = data;
    return true;
}

/// The sessions of a thread, which end with it.
struct Sessions {
    std::vector<std::shared_ptr<LibrarySession>> all;
    ~Sessions() {
        for (const auto& session : all) {
            session->close();
        }
    }
};

thread_local Sessions sessions;
thread_local LibrarySession* latest = nullptr;

}  // namespace

void require(diopiError_t status, const char* what) {
    if (status == diopiSuccess) {
        return;
    }
    const char* text = "";
    diopiHostGetLastErrorText(&text);
    throw Failure{"RuntimeError", std::string(what) + ": " + text};
}

LibrarySession& LibrarySession::current(Library& library) {
    void* const stream = library.is_apart() ? TVMFFIEnvGetStream(library.device_type(), library.device_id()) : nullptr;
    if (latest != nullptr && &latest->library_ == &library && latest->stream_ == stream) {
        return *latest;
    }
    const auto found = std::find_if(sessions.all.begin(), sessions.all.end(), [&](const auto& session) {
        return &session->library_ == &library && session->stream_ == stream;
    });
    if (found == sessions.all.end()) {
        sessions.all.push_back(std::make_shared<LibrarySession>(library, stream));
        latest = sessions.all.back().get();
    } else {
        latest = found->get();
    }
    return *latest;
}

LibrarySession::LibrarySession(Library& library, void* stream) : library_(library), stream_(stream) {
    const SelectedDevice selected(library.number());
    require(diopiHostCreateContext(&context_), "no context");
}

LibrarySession::~LibrarySession() { close(); }

void LibrarySession::close() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!open_) {
            return;
        }
        open_ = false;
    }
    if (latest == this) {
        latest = nullptr;
    }
    clear_discarded();
    for (Group& group : cache_) {
        for (const auto& entry : group.entries) {
            diopiHostDestroyTensor(entry->handle);
        }
        group.entries.clear();
    }
    diopiHostDestroyContext(context_);
}

void LibrarySession::discard(diopiTensorHandle_t tensor) {
    if (std::this_thread::get_id() != owner_) {
        // The owner may be using its stream, on which destroying waits.
        const std::lock_guard<std::mutex> lock(mutex_);
        if (open_) {
            discarded_.push_back(tensor);
            has_discarded_.store(true, std::memory_order_release);
            return;
        }
    }
    diopiHostDestroyTensor(tensor);
}

void LibrarySession::clear_discarded() {
    if (!has_discarded_.load(std::memory_order_acquire)) {
        return;
    }
    std::vector<diopiTensorHandle_t> tensors;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        tensors.swap(discarded_);
        has_discarded_.store(false, std::memory_order_release);
    }
    for (diopiTensorHandle_t tensor : tensors) {
        diopiHostDestroyTensor(tensor);
    }
}

diopiTensorHandle_t LibrarySession::wrap(const DLTensor& tensor) {
    if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr)) {
        throw Failure{"ValueError", "the tensor has no shape"};
    }
    const diopiDtype_t dtype = dtype_of(tensor.dtype);
    if (dtype == diopi_dtype_unsupported) {
        throw Failure{"TypeError", "the interface has no dtype for DLPack's code " + std::to_string(tensor.dtype.code) +
                                       " with " + std::to_string(tensor.dtype.bits) + " bits and " +
                                       std::to_string(tensor.dtype.lanes) + " lanes"};
    }
    const diopiDevice_t device = library_.device_of(tensor.device);
    const uint64_t bytes = reached_bytes(tensor);
    const diopiSize_t size{tensor.shape, tensor.ndim};
    const diopiSize_t stride{tensor.strides, tensor.ndim};
    diopiTensorHandle_t handle = nullptr;
    require(diopiHostWrapMemory(context_, &handle, first_element(tensor), bytes, &size,
                                tensor.strides == nullptr ? nullptr : &stride, 0, dtype, device),
            "the tensor is rejected");
    return handle;
}

Wrapped* LibrarySession::cached(const DLTensor& tensor) {
    if (tensor.ndim < 0 || tensor.ndim > Wrapped::kMostDimensions || (tensor.ndim > 0 && tensor.shape == nullptr)) {
        return nullptr;
    }
    const void* const data = first_element(tensor);
    const diopiDevice_t device = library_.device_of(tensor.device);
    Group& group = cache_[hash_of(tensor) % kGroups];
    const size_t count = group.entries.size();
    for (size_t k = 0; k < count; ++k) {
        const size_t index = wrapped_around(group.next + k, count);
        Wrapped& entry = *group.entries[index];
        if (entry.data == data && is_laid_out(entry, tensor, device)) {
            group.next = index + 1;
            return &entry;
        }
    }
    return replaced(group, tensor, device);
}

Wrapped* LibrarySession::replaced(Group& group, const DLTensor& tensor, diopiDevice_t device) {
    const size_t count = group.entries.size();
    if (count >= Group::kFew) {
        Wrapped* unused = nullptr;
        for (size_t k = 0; k < count; ++k) {
            const size_t index = wrapped_around(group.next + k, count);
            Wrapped& entry = *group.entries[index];
            if (entry.in_use) {
                continue;
            }
            if (is_laid_out(entry, tensor, device) && put_over(entry, tensor)) {
                group.next = index + 1;
                return &entry;
            }
            unused = unused == nullptr ? &entry : unused;
        }
        if (unused != nullptr) {
            const diopiTensorHandle_t handle = wrap(tensor);
            diopiHostDestroyTensor(unused->handle);
            unused->describe(handle, first_element(tensor), tensor, device);
            return unused;
        }
        if (count >= Group::kMost) {
            return nullptr;
        }
    }
    auto entry = std::make_unique<Wrapped>();
    group.entries.reserve(count + 1);
    entry->describe(wrap(tensor), first_element(tensor), tensor, device);
    group.entries.push_back(std::move(entry));
    group.next = count + 1;
    return group.entries.back().get();
}

void Wrapped::describe(diopiTensorHandle_t of, const void* first, const DLTensor& tensor, diopiDevice_t on) {
    handle = of;
    data = first;
    dtype = tensor.dtype;
    rank = tensor.ndim;
    device = on;
    has_strides = tensor.strides != nullptr;
    const auto count = static_cast<size_t>(rank);
    std::copy_n(tensor.shape, count, dimensions.begin());
    if (has_strides) {
        std::copy_n(tensor.strides, count, dimensions.begin() + kMostDimensions);
    }
}

}  // namespace diopigen::ffi
