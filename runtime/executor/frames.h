// Frames of the protocol (docs/executor.md): a header, then fields without padding, in the byte order of this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace diopigen::executor {

inline constexpr std::uint32_t kProtocol = 3;

enum class Kind : std::uint32_t {
    kHello = 0,
    kOpen = 1,
    kCall = 2,
    kClose = 3,
    kOpened = 4,
    kAnswer = 5,
    kClosed = 6,
    kError = 7,
    kPrepare = 8,
    kRun = 9,
    kDone = 10,
    kRead = 11,
};

/// A failure that the other side is told of: a code of the protocol and a text.
class Failed : public std::runtime_error {
  public:
    Failed(std::string code, const std::string& text) : std::runtime_error(text), code_(std::move(code)) {}
    const std::string& code() const { return code_; }

  private:
    std::string code_;
};

/// Reads the fields of a frame in order. Throws `Failed` where the frame ends before a field does.
class Reader {
  public:
    explicit Reader(const std::vector<char>& payload) : next_(payload.data()), end_(next_ + payload.size()) {}

    const char* bytes(std::uint64_t count);
    std::string text();

    template <class T>
    T number() {
        T value;
        std::memcpy(&value, bytes(sizeof(T)), sizeof(T));
        return value;
    }

    template <class T>
    std::vector<T> numbers() {
        const auto count = number<std::uint32_t>();
        const char* const from = bytes(std::uint64_t{count} * sizeof(T));
        std::vector<T> values(count);
        if (count > 0) {
            std::memcpy(values.data(), from, count * sizeof(T));
        }
        return values;
    }

  private:
    const char* next_;
    const char* end_;
};

/// Writes the fields of a frame.
class Writer {
  public:
    template <class T>
    void number(T value) {
        std::memcpy(room(sizeof(T)), &value, sizeof(T));
    }
    template <class T>
    void numbers(const T* values, std::size_t count) {
        number(static_cast<std::uint32_t>(count));
        for (std::size_t i = 0; i < count; ++i) {
            number(values[i]);
        }
    }
    void text(const std::string& value);
    /// Allocates memory for so many more bytes, at once and not more.
    void reserve(std::uint64_t count) { payload_.reserve(payload_.size() + count); }
    /// Bytes for the caller to fill; valid until the next field.
    char* room(std::uint64_t count);
    /// Bytes that stay where they are until the frame is sent.
    void view(const char* from, std::uint64_t count) { views_.push_back({payload_.size(), from, count}); }

    std::uint64_t bytes() const;
    /// Calls `write(from, count)` for all bytes, piece by piece.
    template <class Write>
    void for_each(const Write& write) const {
        std::size_t done = 0;
        for (const View& one : views_) {
            write(payload_.data() + done, one.position - done);
            write(one.from, one.bytes);
            done = one.position;
        }
        write(payload_.data() + done, payload_.size() - done);
    }

  private:
    /// Bytes that come after the first `position` of the payload.
    struct View {
        std::size_t position;
        const char* from;
        std::uint64_t bytes;
    };

    std::vector<char> payload_;
    std::vector<View> views_;
};

/// Returns false where the stream ends.
bool receive(int stream, Kind* kind, std::vector<char>* payload);
void send(int stream, Kind kind, const Writer& frame);

}  // namespace diopigen::executor
