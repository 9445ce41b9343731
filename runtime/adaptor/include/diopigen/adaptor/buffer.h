// A list of plain values: the first few on the stack, more of them in one block of the heap.
#ifndef DIOPIGEN_ADAPTOR_BUFFER_H_
#define DIOPIGEN_ADAPTOR_BUFFER_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace diopigen {
namespace adaptor {
namespace {

// `T` is copied as bytes and never constructed, so that an empty list costs nothing.
template <class T, std::int64_t kInlineCount>
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
        if (items_ != local()) {
            std::free(items_);
        }
    }

    // Room for `count` more, so that they do not move one another. Throws std::bad_alloc.
    void reserve(std::int64_t count) {
        if (size_ + count <= capacity_) {
            return;
        }
        const std::int64_t capacity = size_ + count > 2 * capacity_ ? size_ + count : 2 * capacity_;
        T* const grown = static_cast<T*>(std::malloc(static_cast<std::size_t>(capacity) * sizeof(T)));
        if (grown == nullptr) {
            throw std::bad_alloc();
        }
        std::memcpy(static_cast<void*>(grown), static_cast<const void*>(items_),
                    static_cast<std::size_t>(size_) * sizeof(T));
        if (items_ != local()) {
            std::free(items_);
        }
        items_ = grown;
        capacity_ = capacity;
    }

    T& add(const T& item) {
        reserve(1);
        items_[size_] = item;
        return items_[size_++];
    }

    std::int64_t size() const { return size_; }
    T& operator[](std::int64_t index) { return items_[index]; }
    T* begin() { return items_; }
    T* end() { return items_ + size_; }

  private:
    T* local() { return reinterpret_cast<T*>(local_); }

    alignas(T) unsigned char local_[static_cast<std::size_t>(kInlineCount) * sizeof(T)];
    T* items_ = local();
    std::int64_t size_ = 0;
    std::int64_t capacity_ = kInlineCount;
};

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_BUFFER_H_
