#include "trace_file.h"

#include <cerrno>
#include <cstring>

namespace diopigen::sim {
namespace {

constexpr char kStart[] = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
constexpr char kEnd[] = "\n]}\n";

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') {
            result += '\\';
            result += letter;
        } else if (static_cast<unsigned char>(letter) < 0x20) {
            char escaped[8];
            std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(letter));
            result += escaped;
        } else {
            result += letter;
        }
    }
    return result + '"';
}

std::string microseconds(double seconds) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.3f", seconds * 1e6);
    return text;
}

/// The head of an event: its kind, name, device and stream.
std::string event_head(const char* kind, const std::string& name, int device, int stream) {
    return std::string("{\"ph\": \"") + kind + "\", \"name\": " + quoted(name) +
           ", \"pid\": " + std::to_string(device) + ", \"tid\": " + std::to_string(stream);
}

}  // namespace

TraceFile::~TraceFile() {
    if (file_ != nullptr) {
        std::fclose(file_);
    }
}

void TraceFile::event(const std::string& text) {
    pending_ += (empty_ ? "\n" : ",\n") + text;
    empty_ = false;
}

void TraceFile::add(const TraceRecord& record) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const int device = record.device;
    const int stream = record.stream;
    if (named_.emplace(device, -1).second) {
        const std::string name = quoted("device " + std::to_string(device));
        event(event_head("M", "process_name", device, 0) + ", \"args\": {\"name\": " + name + "}}");
    }
    if (named_.emplace(device, stream).second) {
        const std::string name = quoted("stream " + std::to_string(stream));
        event(event_head("M", "thread_name", device, stream) + ", \"args\": {\"name\": " + name + "}}");
    }
    event(event_head("X", record.name, device, stream) + ", \"ts\": " + microseconds(record.start) + ", \"dur\": " +
          microseconds(record.end - record.start) + ", \"args\": {\"bytes\": " + std::to_string(record.bytes) + "}}");
}

Status TraceFile::failed() {
    failure_ = Status(Code::invalidArgument, "DIOPI_SIM_TRACE: cannot write '" + path_ + "': " + std::strerror(errno));
    pending_.clear();
    return failure_;
}

Status TraceFile::write() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_.ok() || pending_.empty()) {
        pending_.clear();
        return failure_;
    }
    if (file_ == nullptr) {
        file_ = std::fopen(path_.c_str(), "w");
        if (file_ == nullptr || std::fputs(kStart, file_) < 0) {
            return failed();
        }
    } else if (std::fseek(file_, end_, SEEK_SET) != 0) {
        return failed();
    }
    const bool written = std::fwrite(pending_.data(), 1, pending_.size(), file_) == pending_.size();
    end_ = std::ftell(file_);
    if (!written || end_ < 0 || std::fputs(kEnd, file_) < 0 || std::fflush(file_) != 0) {
        return failed();
    }
    pending_.clear();
    return {};
}

}  // namespace diopigen::sim
