// diopi-executor: loads a host runtime and a library of DIOPI functions, and calls what it is told to.
//
// It knows no expected value and decides nothing. Frames (docs/executor.md) come on standard input, answers go to
// standard output; what the library prints goes to standard error.
//
// `diopi-executor --confine [--writable PATH]... [--allow home|network]... -- COMMAND...` runs another program that
// speaks the protocol, in the limits that this one sets for itself, but for that of programs.
//
// From the root of the repository, for this machine or for a board:
//   g++ -std=c++17 -O2 -Iruntime/include -Igenerated/include runtime/executor/*.cpp -ldl -o diopi-executor
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "call.h"
#include "copies.h"
#include "frames.h"
#include "home.h"
#include "libraries.h"
#include "rights.h"
#include "sandbox.h"

namespace diopigen::executor {

namespace {

constexpr const char* kInMemory = "memory";

void send_error(int stream, const std::string& code, const std::string& text) {
    Writer frame;
    frame.text(code);
    frame.text(text);
    send(stream, Kind::kError, frame);
}

/// The streams of the protocol, where the library does not come upon them by printing.
struct Streams {
    int requests;
    int answers;

    Streams() : requests(fcntl(0, F_DUPFD_CLOEXEC, 100)), answers(fcntl(1, F_DUPFD_CLOEXEC, 100)) {
        const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        dup2(nothing, 0);
        close(nothing);
        dup2(2, 1);
    }
};

/// Goes on in a process with all limits; returns the names of those that are in force. `files` are those that the
/// process opens.
std::vector<std::string> confined(std::uint8_t bits, std::vector<std::string> writable,
                                  const std::vector<std::string>& files) {
    std::vector<std::string> visible = named_paths(files);
    for (const std::string& file : files) {
        const std::vector<std::string> needed = needed_folders(file);
        visible.insert(visible.end(), needed.begin(), needed.end());
    }
    writable.insert(writable.end(), {temporary_folder(), "/dev/shm"});
    visible.insert(visible.end(), writable.begin(), writable.end());
    std::vector<std::string> in_force = separate(bits, visible);
    const std::vector<std::string> more = confine(writable, bits);
    in_force.insert(in_force.end(), more.begin(), more.end());
    return in_force;
}

/// Becomes another program, which learns from the environment what is in force.
int become_confined(int count, char** words) {
    std::vector<std::string> writable;
    std::uint8_t bits = kConfined | kPrograms;
    int next = 2;
    for (; next + 1 < count && std::string(words[next]) != "--"; next += 2) {
        const std::string option = words[next];
        const std::string value = words[next + 1];
        if (option == "--writable") {
            writable.push_back(value);
        } else if (option == "--allow" && (value == "home" || value == "network")) {
            bits |= value == "home" ? kHome : kNetwork;
        } else {
            break;
        }
    }
    if (next + 1 >= count || std::string(words[next]) != "--") {
        std::fprintf(stderr,
                     "usage: diopi-executor --confine [--writable PATH]... [--allow home|network]... -- COMMAND...\n");
        return 2;
    }
    std::string names;
    for (const std::string& name : confined(bits, writable, {})) {
        names += (names.empty() ? "" : "\n") + name;
    }
    setenv("DIOPI_EXECUTOR_IN_FORCE", names.c_str(), 1);
    execvp(words[next + 1], words + next + 1);
    std::fprintf(stderr, "%s: %s\n", words[next + 1], std::strerror(errno));
    return 2;
}

class RequestServer {
  public:
    explicit RequestServer(Streams streams) : streams_(streams) {}

    /// Answers until the input ends or the library is left.
    int serve() {
        Kind kind{};
        std::vector<char> payload;
        while (receive(streams_.requests, &kind, &payload)) {
            Reader frame(payload);
            try {
                switch (kind) {
                    case Kind::kOpen:
                        open(frame);
                        break;
                    case Kind::kCall:
                        call(frame);
                        break;
                    case Kind::kPrepare:
                        copies().prepare(frame, functions_);
                        send(streams_.answers, Kind::kDone, copies().run(0));
                        break;
                    case Kind::kRun:
                        send(streams_.answers, Kind::kDone, copies().run(frame.number<std::uint32_t>()));
                        break;
                    case Kind::kRead:
                        send(streams_.answers, Kind::kAnswer, copies().read(frame.number<std::uint32_t>()));
                        break;
                    case Kind::kClose:
                        close();
                        return EXIT_SUCCESS;
                    default:
                        throw Failed("protocol", "a frame is of a kind that this executor does not know");
                }
            } catch (const Failed& failed) {
                send_error(streams_.answers, failed.code(), failed.what());
            } catch (const std::bad_alloc&) {
                send_error(streams_.answers, kInMemory, "memory is exhausted");
                return EXIT_FAILURE;
            } catch (const std::exception& error) {
                send_error(streams_.answers, "protocol", error.what());
            }
        }
        return EXIT_SUCCESS;
    }

  private:
    void open(Reader& frame) {
        const auto limit = frame.number<std::uint64_t>();
        const auto byte_dtype = frame.number<std::int32_t>();
        const auto bits = frame.number<std::uint8_t>();
        std::vector<std::string> writable(frame.number<std::uint32_t>());
        for (std::string& path : writable) {
            path = frame.text();
        }
        const std::string runtime = frame.text();
        const std::string path = frame.text();
        if (limit > 0) {
            const rlimit bytes{limit, limit};
            setrlimit(RLIMIT_DATA, &bytes);
        }
        // Before any code of the library runs.
        greet(bits != 0 ? confined(bits, writable, {runtime, path}) : std::vector<std::string>());
        runtime_ = std::make_unique<Runtime>(runtime);
        if (bits != 0) {
            seal_code();
        }
        library_ = std::make_unique<Library>(path);
        device_ = std::make_unique<Device>(*runtime_, byte_dtype);
        Writer answer;
        answer.text(library_->text("diopiGetVendorName"));
        answer.text(library_->text("diopiGetImplVersion"));
        answer.number(static_cast<std::uint8_t>(device_->is_accelerator()));
        const auto count = frame.number<std::uint32_t>();
        for (std::uint32_t i = 0; i < count; ++i) {
            Presence presence{};
            functions_.push_back(library_->find(frame.text(), &presence));
            answer.number(presence);
        }
        send(streams_.answers, Kind::kOpened, answer);
    }

    void greet(const std::vector<std::string>& in_force) const {
        utsname system{};
        uname(&system);
        Writer hello;
        hello.number(kProtocol);
        hello.text(system.machine);
        hello.number(static_cast<std::uint32_t>(in_force.size()));
        for (const std::string& name : in_force) {
            hello.text(name);
        }
        send(streams_.answers, Kind::kHello, hello);
    }

    void call(Reader& frame) {
        const auto word = frame.number<std::uint32_t>();
        const std::uint32_t index = word & ~kElsewhere;
        void* const function = index < functions_.size() ? functions_[index] : nullptr;
        if (function == nullptr) {
            throw Failed("protocol", "a call of a function that the library does not have");
        }
        make_call(*device_, *library_, function, (word & kElsewhere) != 0, frame, streams_.answers);
    }

    Copies& copies() {
        if (library_ == nullptr) {
            throw Failed("protocol", "a call before a library is open");
        }
        if (copies_ == nullptr) {
            copies_ = std::make_unique<Copies>(*device_, *library_);
        }
        return *copies_;
    }

    void close() {
        if (library_ == nullptr) {
            return;
        }
        copies_.reset();
        Writer answer;
        device_->close();
        const std::string before = library_->text("diopiGetLastErrorString");
        const std::int32_t status = library_->finalize();
        std::string wrong;
        if (status != 0) {
            wrong = "finalizeLibrary returns " + std::to_string(status) + ", not 0";
            const std::string said = library_->text("diopiGetLastErrorString");
            wrong += said.empty() || said == before ? "" : " (" + said + ")";
        }
        std::fflush(nullptr);
        answer.text(wrong);
        send(streams_.answers, Kind::kClosed, answer);
    }

    Streams streams_;
    std::unique_ptr<Runtime> runtime_;
    std::unique_ptr<Library> library_;
    std::unique_ptr<Device> device_;
    std::unique_ptr<Copies> copies_;
    std::vector<void*> functions_;
};

}  // namespace

}  // namespace diopigen::executor

int main(int count, char** words) {
    if (count > 1 && std::string(words[1]) == "--confine") {
        return diopigen::executor::become_confined(count, words);
    }
    // Never destroyed: a thread may wait in it, and the library may be broken.
    auto* const server = new diopigen::executor::RequestServer(diopigen::executor::Streams());
    _exit(server->serve());
}
