// Frames of the protocol (docs/executor.md): a header, then fields without padding, in the byte order of this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace diopigen::executor {

inline constexpr std::uint32_t kProtocol = 2;

enum class Kind : std::uint32_t {
    kHello = 0,
    kOpen = 1,
    kCall = 2,
    kClose = 3,
    kOpened = 4,
    kAnswer = 5,
    kClosed = 6,
    kError = 7,
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
    /// Bytes for the caller to fill; valid until the next field.
    char* room(std::uint64_t count);
    const std::vector<char>& payload() const { return payload_; }

  private:
    std::vector<char> payload_;
};

/// Returns false where the stream ends.
bool receive(int stream, Kind* kind, std::vector<char>* payload);
void send(int stream, Kind kind, const Writer& frame);

}  // namespace diopigen::executor
