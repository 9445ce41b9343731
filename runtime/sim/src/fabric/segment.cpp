// memfd_create, and F_OFD_SETLK: a lock of one opening of a file, not of its process.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "segment.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <stdexcept>

namespace diopigen::sim::fabric {
namespace {

constexpr char kPrefix[] = "diopi-";
constexpr std::size_t kHead = (sizeof(Head) + 4095) / 4096 * 4096;

std::size_t channel_bytes(int nranks) {
    const auto ranks = static_cast<std::size_t>(nranks);
    return (ranks * ranks * sizeof(Channel) + 4095) / 4096 * 4096;
}

std::size_t segment_bytes(int nranks) {
    const auto ranks = static_cast<std::size_t>(nranks);
    return kHead + channel_bytes(nranks) + ranks * kSlots * kChunk + ranks * ranks * kSlots * kMessage;
}

long futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* time) {
    static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "the kernel reads the word");
    return syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), operation, value, time, nullptr, 0);
}

struct flock rank_lock(int rank) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = rank;
    lock.l_len = 1;
    return lock;
}

/// What an id says: the label of the file, and which process has it open as which descriptor.
struct Origin {
    std::string label;
    std::string process;
    std::string file;
};

Origin origin_of(const std::string& name) {
    const std::size_t file = name.rfind('-');
    const std::size_t process = name.rfind('-', file - 1);
    return {name.substr(0, process), name.substr(process + 1, file - process - 1), name.substr(file + 1)};
}

/// Whether it is the file of this label, and not one that a process of the same number has open today.
bool is_file_of(int file, const std::string& label) {
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    char target[256] = {};
    const ssize_t length = readlink(link.c_str(), target, sizeof(target) - 1);
    return length > 0 && std::string(target) == "/memfd:" + label + " (deleted)";
}

}  // namespace

SegmentFile::SegmentFile(const std::string& random) {
    const std::string label = kPrefix + random;
    file_ = memfd_create(label.c_str(), MFD_CLOEXEC);
    if (file_ < 0) {
        throw std::runtime_error(std::string("shared memory cannot be made: ") + std::strerror(errno));
    }
    name_ = label + "-" + std::to_string(getpid()) + "-" + std::to_string(file_);
}

SegmentFile::~SegmentFile() { close(file_); }

Segment::Segment(const std::string& name, int nranks, int rank)
    : nranks_(nranks), rank_(rank), bytes_(segment_bytes(nranks)) {
    const auto fail = [&](const std::string& what, int error) {
        leave();
        throw std::runtime_error("communicator " + name + ": " + what + ": " + std::strerror(error));
    };
    const Origin origin = origin_of(name);
    const std::string path = "/proc/" + origin.process + "/fd/" + origin.file;
    file_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file_ < 0 || !is_file_of(file_, origin.label)) {
        fail("the process that made its id, " + origin.process + ", has ended", file_ < 0 ? errno : ENOENT);
    }
    // Allocated and not only sized: a lack of memory is an error here, and not a signal at some access.
    if (const int error = posix_fallocate(file_, 0, static_cast<off_t>(bytes_)); error != 0) {
        fail(std::to_string(bytes_ >> 10) + " KiB of shared memory cannot be allocated", error);
    }
    struct flock lock = rank_lock(rank);
    if (fcntl(file_, F_OFD_SETLK, &lock) != 0) {
        fail("rank " + std::to_string(rank) + " is there already", errno);
    }
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (memory_ == MAP_FAILED) {
        fail("shared memory cannot be mapped", errno);
    }
}

Segment::~Segment() {
    leave();
    munmap(memory_, bytes_);
}

void Segment::leave() {
    if (file_ >= 0) {
        close(file_);
        file_ = -1;
    }
}

char* Segment::chunk(int rank, uint32_t round) const {
    char* const chunks = static_cast<char*>(memory_) + kHead + channel_bytes(nranks_);
    return chunks + (static_cast<std::size_t>(rank) * kSlots + round % kSlots) * kChunk;
}

Channel& Segment::channel(int from, int to) const {
    return reinterpret_cast<Channel*>(static_cast<char*>(memory_) + kHead)[from * nranks_ + to];
}

char* Segment::message(int from, int to, uint32_t round) const {
    const auto pair = static_cast<std::size_t>(from * nranks_ + to);
    return chunk(nranks_, 0) + (pair * kSlots + round % kSlots) * kMessage;
}

bool Segment::is_alive(int rank) const {
    if (file_ < 0 || rank == rank_) {
        return true;
    }
    struct flock lock = rank_lock(rank);
    return fcntl(file_, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

void sleep_while(Counter* counter, uint32_t seen, int64_t nanoseconds) {
    const timespec time{static_cast<time_t>(nanoseconds / 1'000'000'000),
                        static_cast<long>(nanoseconds % 1'000'000'000)};
    counter->waiters.fetch_add(1);
    if (counter->value.load() == seen) {
        futex(&counter->value, FUTEX_WAIT, seen, &time);
    }
    counter->waiters.fetch_sub(1);
}

void publish(Counter* counter, uint32_t value) {
    counter->value.store(value);
    if (counter->waiters.load() != 0) {
        wake_all(counter);
    }
}

void wake_all(Counter* counter) { futex(&counter->value, FUTEX_WAKE, INT_MAX, nullptr); }

}  // namespace diopigen::sim::fabric
