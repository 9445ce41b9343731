#include "frames.h"

#include <unistd.h>

#include <cerrno>

namespace diopigen::executor {

namespace {

struct Header {
    Kind kind;
    std::uint32_t reserved;
    std::uint64_t bytes;
};
static_assert(sizeof(Header) == 16);

/// Returns false where the stream ends before `count` bytes.
bool read_all(int stream, char* to, std::uint64_t count) {
    while (count > 0) {
        const ssize_t got = read(stream, to, count);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        to += got;
        count -= static_cast<std::uint64_t>(got);
    }
    return true;
}

/// Gives up where the other side does not read: the stream ends then as well.
void write_all(int stream, const char* from, std::uint64_t count) {
    while (count > 0) {
        const ssize_t written = write(stream, from, count);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return;
        }
        from += written;
        count -= static_cast<std::uint64_t>(written);
    }
}

}  // namespace

const char* Reader::bytes(std::uint64_t count) {
    if (count > static_cast<std::uint64_t>(end_ - next_)) {
        throw Failed("protocol", "a frame ends before its fields do");
    }
    const char* const found = next_;
    next_ += count;
    return found;
}

std::string Reader::text() {
    const auto count = number<std::uint32_t>();
    return std::string(bytes(count), count);
}

char* Writer::room(std::uint64_t count) {
    const std::size_t start = payload_.size();
    payload_.resize(start + count);
    return payload_.data() + start;
}

void Writer::text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    std::memcpy(room(value.size()), value.data(), value.size());
}

std::uint64_t Writer::bytes() const {
    std::uint64_t count = payload_.size();
    for (const View& one : views_) {
        count += one.bytes;
    }
    return count;
}

bool receive(int stream, Kind* kind, std::vector<char>* payload) {
    Header header{};
    if (!read_all(stream, reinterpret_cast<char*>(&header), sizeof(header))) {
        return false;
    }
    *kind = header.kind;
    payload->resize(header.bytes);
    return read_all(stream, payload->data(), header.bytes);
}

void send(int stream, Kind kind, const Writer& frame) {
    const Header header{kind, 0, frame.bytes()};
    write_all(stream, reinterpret_cast<const char*>(&header), sizeof(header));
    frame.for_each([stream](const char* from, std::uint64_t count) { write_all(stream, from, count); });
}

}  // namespace diopigen::executor
