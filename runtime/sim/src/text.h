// Text that a signal handler can make: a fixed buffer, no allocation, no locale. And `hex`, which allocates.
#ifndef DIOPIGEN_SIM_SRC_TEXT_H_
#define DIOPIGEN_SIM_SRC_TEXT_H_

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace diopigen::sim {

class Text {
  public:
    Text& operator<<(const char* text) {
        while (*text != '\0') {
            put(*text++);
        }
        return *this;
    }

    Text& operator<<(uint64_t number) { return digits(number, 10); }
    Text& operator<<(int number) {
        if (number < 0) {
            put('-');
        }
        return digits(number < 0 ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number), 10);
    }
    Text& address(uintptr_t address) {
        *this << "0x";
        return digits(address, 16);
    }

    const char* c_str() {
        buffer_[used_] = '\0';
        return buffer_;
    }

    /// Writes all of it to a file descriptor.
    void write_to(int file) const {
        std::size_t written = 0;
        while (written < used_) {
            const ssize_t count = write(file, buffer_ + written, used_ - written);
            if (count <= 0) {
                return;
            }
            written += static_cast<std::size_t>(count);
        }
    }

  private:
    void put(char letter) {
        if (used_ + 1 < sizeof(buffer_)) {  // what does not fit is cut off
            buffer_[used_++] = letter;
        }
    }

    Text& digits(uint64_t number, unsigned base) {
        char reversed[24];
        std::size_t count = 0;
        do {
            reversed[count++] = "0123456789abcdef"[number % base];
            number /= base;
        } while (number != 0);
        while (count > 0) {
            put(reversed[--count]);
        }
        return *this;
    }

    char buffer_[2048];
    std::size_t used_ = 0;
};

inline std::string hex(uintptr_t address) {
    Text text;
    return text.address(address).c_str();
}

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_TEXT_H_
