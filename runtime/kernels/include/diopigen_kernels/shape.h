// Sizes and strides of tensors. A launch carries several, and would otherwise spend most of its time on their memory.
#ifndef DIOPIGEN_KERNELS_SHAPE_H_
#define DIOPIGEN_KERNELS_SHAPE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <type_traits>
#include <vector>

namespace diopigen::kernels {

/// What std::vector offers, for trivial values of which kInside have room within the object.
template <typename T, std::size_t kInside>
class SmallVector {
    static_assert(std::is_trivially_copyable<T>::value, "values are copied as memory");
    template <typename Iterator>
    using IfIterator = typename std::iterator_traits<Iterator>::iterator_category;

  public:
    using value_type = T;
    using iterator = T*;
    using const_iterator = const T*;

    SmallVector() {}  // NOLINT: a defaulted one lets `{}` write zeros to all of it first
    explicit SmallVector(std::size_t count, T value = T()) { resize(count, value); }
    SmallVector(std::initializer_list<T> values) { append(values.begin(), values.end()); }
    SmallVector(const std::vector<T>& values) { append(values.begin(), values.end()); }  // NOLINT: the same values
    template <typename Iterator, typename = IfIterator<Iterator>>
    SmallVector(Iterator first, Iterator last) {
        append(first, last);
    }
    SmallVector(const SmallVector& other) { append(other.begin(), other.end()); }
    SmallVector(SmallVector&& other) noexcept { take(&other); }
    SmallVector& operator=(const SmallVector& other) {
        if (this != &other) {
            assign(other.begin(), other.end());
        }
        return *this;
    }
    SmallVector& operator=(SmallVector&& other) noexcept {
        if (this != &other) {
            drop();
            take(&other);
        }
        return *this;
    }
    ~SmallVector() { drop(); }
    operator std::vector<T>() const { return {begin(), end()}; }  // NOLINT: the same values

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }
    T& front() { return data_[0]; }
    T& back() { return data_[size_ - 1]; }
    const T& front() const { return data_[0]; }
    const T& back() const { return data_[size_ - 1]; }

    void reserve(std::size_t count) {
        if (count > capacity_) {
            T* const moved = new T[std::max(count, 2 * capacity_)];
            std::copy_n(data_, size_, moved);
            const std::size_t capacity = std::max(count, 2 * capacity_);
            const std::size_t size = size_;
            drop();
            data_ = moved;
            size_ = size;
            capacity_ = capacity;
        }
    }
    void clear() { size_ = 0; }
    void resize(std::size_t count, T value = T()) {
        reserve(count);
        std::fill(data_ + std::min(size_, count), data_ + count, value);
        size_ = count;
    }
    void push_back(T value) {
        reserve(size_ + 1);
        data_[size_++] = value;
    }
    void pop_back() { --size_; }
    /// The range is no part of this list.
    template <typename Iterator, typename = IfIterator<Iterator>>
    void assign(Iterator first, Iterator last) {
        clear();
        append(first, last);
    }
    T* insert(const T* position, std::size_t count, T value) {
        T* const gap = open(position, count);
        std::fill_n(gap, count, value);
        return gap;
    }
    /// The range is no part of this list.
    template <typename Iterator, typename = IfIterator<Iterator>>
    T* insert(const T* position, Iterator first, Iterator last) {
        T* const gap = open(position, static_cast<std::size_t>(std::distance(first, last)));
        std::copy(first, last, gap);
        return gap;
    }
    T* erase(const T* position) {
        T* const gone = data_ + (position - data_);
        std::copy(gone + 1, end(), gone);
        --size_;
        return gone;
    }

    friend bool operator==(const SmallVector& a, const SmallVector& b) {
        bool isSame = a.size_ == b.size_;
        for (std::size_t i = 0; isSame && i < a.size_; ++i) {  // few: a call of memcmp takes longer
            isSame = a.data_[i] == b.data_[i];
        }
        return isSame;
    }
    friend bool operator!=(const SmallVector& a, const SmallVector& b) { return !(a == b); }

  private:
    template <typename Iterator>
    void append(Iterator first, Iterator last) {
        const auto count = static_cast<std::size_t>(std::distance(first, last));
        reserve(size_ + count);
        T* const to = data_ + size_;
        size_ += count;
        switch (count) {  // few: a call of memmove takes longer
            case 4:
                to[3] = first[3];
                [[fallthrough]];
            case 3:
                to[2] = first[2];
                [[fallthrough]];
            case 2:
                to[1] = first[1];
                [[fallthrough]];
            case 1:
                to[0] = first[0];
                [[fallthrough]];
            case 0:
                return;
            default:
                std::copy(first, last, to);
        }
    }
    T* open(const T* position, std::size_t count) {
        const std::ptrdiff_t at = position - data_;
        reserve(size_ + count);
        std::copy_backward(data_ + at, end(), end() + count);
        size_ += count;
        return data_ + at;
    }
    void drop() {
        if (data_ != inside_) {
            delete[] data_;
            data_ = inside_;
        }
        size_ = 0;
        capacity_ = kInside;
    }
    void take(SmallVector* other) {
        if (other->data_ == other->inside_) {
            append(other->begin(), other->end());
        } else {
            data_ = other->data_;
            size_ = other->size_;
            capacity_ = other->capacity_;
            other->data_ = other->inside_;
        }
        other->drop();
    }

    T inside_[kInside];
    T* data_ = inside_;
    std::size_t size_ = 0;
    std::size_t capacity_ = kInside;
};

using Shape = SmallVector<int64_t, 8>;
using Order = SmallVector<int8_t, 8>;  ///< dimensions

/// Whether elements with these sizes and strides are in row-major order without gaps. The stride of a dimension of one
/// element does not matter.
inline bool isInOrder(const Shape& shape, const Shape& stride) {
    int64_t expected = 1;
    for (std::size_t d = shape.size(); d-- > 0; expected *= shape[d]) {
        if (shape[d] != 1 && stride[d] != expected) {
            return false;
        }
    }
    return true;
}

/// The number of elements of a tensor with these sizes: a Shape, or a std::vector of them.
template <typename Sizes>
int64_t product(const Sizes& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_SHAPE_H_
