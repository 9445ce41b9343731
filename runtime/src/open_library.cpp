// Libraries of operators have undefined references to diopirt.h, and name no library that has these functions. The
// linker looks for them in the global scope, and in what the library was loaded with: so it is loaded as one of two
// libraries that a third one needs, which is written here and has nothing but that list.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // dladdr, memfd_create, RTLD_DEEPBIND
#endif
#include <diopigen/open_library.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "failure.h"

using diopigen::fail;

namespace {

/// In this library, and in no other, whatever the names of functions are bound to.
const char kAnchor = 0;

Dl_info object_of(const void* address) {
    Dl_info info{};
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
        fail("the host does not find its own library");
    }
    return info;
}

void* loaded(const std::string& path, int flags) {
    void* const library = dlopen(path.c_str(), flags);
    if (library == nullptr) {
        const char* const reason = dlerror();
        fail(reason == nullptr ? path + " does not load" : reason);
    }
    return library;
}

/// A file of this process alone. It stays open: the linker knows libraries by path, and a later file must not get this
/// one.
struct PrivateFile {
    int number;
    std::string path;

    explicit PrivateFile(const char* label) : number(memfd_create(label, MFD_CLOEXEC)) {
        if (number < 0) {
            fail(std::string("no file in memory: ") + std::strerror(errno));
        }
        path = "/proc/self/fd/" + std::to_string(number);
    }
    void write(const void* data, std::size_t bytes) const {
        if (::write(number, data, bytes) != static_cast<ssize_t>(bytes)) {
            fail(std::string("a file in memory cannot be written: ") + std::strerror(errno));
        }
    }
};

std::string copied(const std::string& path) {
    const PrivateFile copy("diopi-library");
    const int source = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat facts {};
    bool is_done = source >= 0 && fstat(source, &facts) == 0;
    for (off_t left = facts.st_size; is_done && left > 0;) {
        const ssize_t bytes = sendfile(copy.number, source, nullptr, static_cast<std::size_t>(left));
        is_done = bytes > 0;
        left -= bytes;
    }
    if (source >= 0) {
        close(source);
    }
    if (!is_done) {
        fail(path + " cannot be copied: " + std::strerror(errno));
    }
    return copy.path;
}

/// The head of a file; false where it is no library of 64 bits.
bool read_head(const std::string& path, Elf64_Ehdr* head) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    const bool is_read = read(file, head, sizeof(*head)) == static_cast<ssize_t>(sizeof(*head));
    close(file);
    return is_read && std::memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64;
}

/// A library that needs two others, in this order.
struct Pair {
    static constexpr int kSegments = 3;
    static constexpr int kEntries = 8;

    Elf64_Ehdr head;
    Elf64_Phdr segments[kSegments];
    Elf64_Dyn entries[kEntries];
    Elf64_Sym no_symbol;
    Elf64_Word hash[4];  // one empty bucket, one chain
};

std::string written_pair(const Elf64_Ehdr& like, const std::string& first, const std::string& second) {
    std::string names;
    names += '\0';
    names += first + '\0' + second + '\0';
    Pair pair{};
    const uint64_t bytes = sizeof(pair) + names.size();
    pair.head = like;  // its machine, flags and byte order
    pair.head.e_type = ET_DYN;
    pair.head.e_entry = 0;
    pair.head.e_phoff = offsetof(Pair, segments);
    pair.head.e_ehsize = sizeof(Elf64_Ehdr);
    pair.head.e_phentsize = sizeof(Elf64_Phdr);
    pair.head.e_phnum = Pair::kSegments;
    pair.head.e_shoff = 0;
    pair.head.e_shentsize = 0;
    pair.head.e_shnum = 0;
    pair.head.e_shstrndx = 0;
    constexpr uint64_t kPage = 0x10000;  // the largest one of the processors that there are
    pair.segments[0] = {PT_LOAD, PF_R | PF_W, 0, 0, 0, bytes, bytes, kPage};
    const uint64_t at = offsetof(Pair, entries);
    pair.segments[1] = {PT_DYNAMIC, PF_R | PF_W, at, at, at, sizeof(pair.entries), sizeof(pair.entries), 8};
    pair.segments[2] = {PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 0, 16};
    const std::pair<int64_t, uint64_t> entries[Pair::kEntries] = {
        {DT_NEEDED, 1},
        {DT_NEEDED, 2 + first.size()},
        {DT_STRTAB, sizeof(pair)},
        {DT_STRSZ, names.size()},
        {DT_SYMTAB, offsetof(Pair, no_symbol)},
        {DT_SYMENT, sizeof(Elf64_Sym)},
        {DT_HASH, offsetof(Pair, hash)},
        {DT_NULL, 0},
    };
    for (int i = 0; i < Pair::kEntries; ++i) {
        pair.entries[i].d_tag = entries[i].first;
        pair.entries[i].d_un.d_val = entries[i].second;
    }
    pair.hash[0] = pair.hash[1] = 1;
    const PrivateFile file("diopi-pair");
    file.write(&pair, sizeof(pair));
    file.write(names.data(), names.size());
    return file.path;
}

void* opened(const std::string& path) {
    const Dl_info host = object_of(&kAnchor);
    // In the global scope; RTLD_DEFAULT would look into what this library was loaded with as well.
    void* const global = dlsym(dlopen(nullptr, RTLD_LAZY), "diopiGetTensorData");
    const bool is_global = global != nullptr;
    Elf64_Ehdr head{};
    // A program that has this host in the global scope shares its libraries with all of the process. What is no
    // library is for the linker to name.
    if ((is_global && object_of(global).dli_fbase == host.dli_fbase) || !read_head(path, &head)) {
        return loaded(path, RTLD_NOW | RTLD_LOCAL);
    }
    const bool is_there = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD) != nullptr;
    const std::string own = is_there ? copied(path) : path;
    // Where another host is in the global scope, what the pair needs goes first.
    loaded(written_pair(head, own, host.dli_fname), RTLD_NOW | RTLD_LOCAL | (is_global ? RTLD_DEEPBIND : 0));
    return loaded(own, RTLD_NOW | RTLD_NOLOAD);  // not the pair: dlsym would look into the host as well
}

}  // namespace

diopiError_t diopiHostOpenLibrary(const char* path, void** library) {
    return diopigen::guarded("diopiHostOpenLibrary", [&] {
        diopigen::require_not_null(path, "path");
        diopigen::require_not_null(library, "library");
        static std::recursive_mutex mutex;  // a library may open another one while it is loaded
        static auto* const known = new std::map<std::string, void*>;
        const std::unique_ptr<char, void (*)(void*)> real(realpath(path, nullptr), std::free);
        const std::string name = real == nullptr ? path : real.get();  // without a file, what the linker searches for
        const std::lock_guard<std::recursive_mutex> lock(mutex);
        void*& found = (*known)[name];
        if (found == nullptr) {
            found = opened(name);
        }
        *library = found;
    });
}
