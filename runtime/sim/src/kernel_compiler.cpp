#include "kernel_compiler.h"

#include <diopigen_kernels/parallel.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "launch_compiled.h"

extern char** environ;

namespace diopigen::sim {

namespace {

namespace fs = std::filesystem;

using Function = void (*)(void* const*, const int64_t*, int64_t, int64_t);

struct Loaded {
    void* library = nullptr;
    Function function = nullptr;
    std::string name;
};

// No -ffast-math: NaN and infinities stay what they are, and sums keep their order. Without contraction a kernel rounds
// where the operators that it is made of do.
constexpr const char* kOptions[] = {"-std=c++17",
                                    "-O3",
                                    "-march=native",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    "-ffp-contract=off",
                                    "-fvisibility=hidden",
                                    "-fPIC",
                                    "-shared",
                                    "-w"};

std::string file_text(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string compiler_name() {
    const char* const chosen = std::getenv("DIOPI_KERNEL_CXX");
    return chosen == nullptr || *chosen == '\0' ? "c++" : chosen;
}

fs::path cache_folder() {
    if (const char* const chosen = std::getenv("DIOPI_KERNEL_CACHE"); chosen != nullptr && *chosen != '\0') {
        return chosen;
    }
    if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
        return fs::path(cache) / "diopi_kernels";
    }
    const char* const home = std::getenv("HOME");
    return home == nullptr || *home == '\0' ? fs::temp_directory_path() / ("diopi_kernels_" + std::to_string(getuid()))
                                            : fs::path(home) / ".cache/diopi_kernels";
}

// What the compiler makes of -march=native: a folder may be shared by machines.
const std::string& processor() {
    static const std::string found = [] {
        std::ifstream file("/proc/cpuinfo");
        for (std::string line; std::getline(file, line);) {
            if (line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0) {
                return line;
            }
        }
        return std::string();
    }();
    return found;
}

// FNV-1a. A hit is compared with the source, so two sources with one digest cost a compilation and no more.
std::string digest(const std::string& text) {
    uint64_t hash = 14695981039346656037ULL;
    for (const char each : text) {
        hash = (hash ^ static_cast<unsigned char>(each)) * 1099511628211ULL;
    }
    std::ostringstream hex;
    hex << std::hex << hash;
    return hex.str();
}

Status failed(const std::string& text) { return {Code::invalidArgument, text}; }

Status run_compiler(const fs::path& source, const fs::path& library, const fs::path& messages) {
    const std::string compiler = compiler_name(), from = source.string(), to = library.string();
    std::vector<const char*> words = {compiler.c_str()};
    words.insert(words.end(), std::begin(kOptions), std::end(kOptions));
    words.insert(words.end(), {from.c_str(), "-o", to.c_str(), "-lm", nullptr});
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t child = 0;
    const int status =
        posix_spawnp(&child, compiler.c_str(), &actions, nullptr, const_cast<char**>(words.data()), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (status != 0) {
        return failed("the compiler '" + compiler + "' does not start: " + std::system_category().message(status) +
                      ". Install a C++17 compiler, such as g++ or clang++, or name one in DIOPI_KERNEL_CXX");
    }
    int ended = 0;
    while (waitpid(child, &ended, 0) < 0) {
        if (errno != EINTR) {
            return failed("the compiler '" + compiler + "' was lost");
        }
    }
    if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0) {
        return failed("'" + compiler + "' does not compile the kernel: " + file_text(messages));
    }
    return {};
}

// The library of a source, compiled where the cache has none. What other processes read appears at once.
Status library_of(const std::string& source, fs::path* found) {
    const std::string key = compiler_name() + "\n" + processor() + "\n" + source;
    const fs::path folder = cache_folder(), stem = folder / digest(key);
    const fs::path library = stem.string() + ".so", text = stem.string() + ".cpp";
    *found = library;
    if (fs::exists(library) && file_text(text) == source) {
        return {};
    }
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) {
        return failed("no folder for kernels at " + folder.string() + ": " + error.message());
    }
    const std::string own =
        stem.string() + "." + std::to_string(getpid()) + "." + std::to_string(reinterpret_cast<uintptr_t>(found));
    const fs::path own_text = own + ".cpp", own_library = own + ".so", messages = own + ".txt";
    std::ofstream(own_text, std::ios::binary) << source;
    Status status = run_compiler(own_text, own_library, messages);
    if (status.ok()) {
        fs::rename(own_library, library, error);
        if (!error) {
            fs::rename(own_text, text, error);
        }
        status = error ? failed("the kernel cannot be saved: " + error.message()) : Status();
    }
    std::error_code ignored;
    for (const fs::path& each : {own_text, own_library, messages}) {
        fs::remove(each, ignored);
    }
    return status;
}

}  // namespace

Status compile_kernel(const char* source, const char* name, void** kernel) {
    if (source == nullptr || name == nullptr || kernel == nullptr) {
        return failed("a kernel without source or name");
    }
    fs::path path;
    const Status status = library_of(source, &path);
    if (!status.ok()) {
        return status;
    }
    auto loaded = std::make_unique<Loaded>();
    loaded->name = name;
    loaded->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded->library == nullptr) {
        return failed(std::string("the kernel does not load: ") + dlerror());
    }
    loaded->function = reinterpret_cast<Function>(dlsym(loaded->library, name));
    if (loaded->function == nullptr) {
        dlclose(loaded->library);
        return failed(std::string("the source defines no function ") + name);
    }
    *kernel = loaded.release();
    return {};
}

Status launch_kernel(void* kernel, diopiStreamHandle_t stream, const diopigenKernelBuffer_t* buffers,
                     uint64_t buffer_count, const int64_t* numbers, uint64_t number_count, int64_t items,
                     int64_t grain) {
    if (kernel == nullptr || (buffers == nullptr && buffer_count != 0) || (numbers == nullptr && number_count != 0)) {
        return failed("a launch without a kernel, buffers or numbers");
    }
    const auto* const loaded = static_cast<const Loaded*>(kernel);
    std::vector<Buffer> used;
    used.reserve(buffer_count);
    for (uint64_t i = 0; i < buffer_count; ++i) {
        const diopigenKernelBuffer_t& each = buffers[i];
        used.push_back(each.written ? writes(each.data, each.bytes) : reads(each.data, each.bytes));
    }
    std::vector<int64_t> copied(numbers, numbers + number_count);
    const Function function = loaded->function;
    const auto run = [function, copied = std::move(copied), items, grain](const Kernel& k) {
        std::vector<void*> addresses;
        for (std::size_t i = 0; i < k.count(); ++i) {
            const bool is_read = k.buffer(i).access == kernels::Access::read;
            addresses.push_back(is_read ? const_cast<char*>(k.in<char>(i)) : k.out<char>(i));
        }
        kernels::forRanges(
            items, grain, [&](int64_t first, int64_t last) { function(addresses.data(), copied.data(), first, last); });
    };
    return launch_compiled(stream, loaded->name.c_str(), std::move(used), run, items <= grain);
}

Status unload_kernel(void* kernel) {
    const std::unique_ptr<Loaded> loaded(static_cast<Loaded*>(kernel));
    if (loaded != nullptr) {
        dlclose(loaded->library);
    }
    return {};
}

}  // namespace diopigen::sim
