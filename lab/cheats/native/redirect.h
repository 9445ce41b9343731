// Redirects the calls that other loaded objects make of a function: their global offset tables.
#pragma once

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace cheat {

namespace got {

struct Request {
    const char* name;
    void* replacement;
    int replaced;
};

inline void* address(const dl_phdr_info* object, ElfW(Addr) value) {
    // glibc has relocated the entries of the dynamic section.
    return reinterpret_cast<void*>(value < object->dlpi_addr ? value + object->dlpi_addr : value);
}

inline void replaceIn(const dl_phdr_info* object, Request& request, const ElfW(Dyn) * dynamic) {
    const ElfW(Sym)* symbols = nullptr;
    const char* texts = nullptr;
    struct {
        const ElfW(Rela) * first;
        size_t bytes;
    } tables[2] = {};
    for (; dynamic->d_tag != DT_NULL; ++dynamic) {
        void* const at = address(object, dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_SYMTAB) symbols = static_cast<ElfW(Sym)*>(at);
        if (dynamic->d_tag == DT_STRTAB) texts = static_cast<char*>(at);
        if (dynamic->d_tag == DT_JMPREL) tables[0].first = static_cast<ElfW(Rela)*>(at);
        if (dynamic->d_tag == DT_PLTRELSZ) tables[0].bytes = dynamic->d_un.d_val;
        if (dynamic->d_tag == DT_RELA) tables[1].first = static_cast<ElfW(Rela)*>(at);
        if (dynamic->d_tag == DT_RELASZ) tables[1].bytes = dynamic->d_un.d_val;
    }
    if (symbols == nullptr || texts == nullptr) return;
    const long page = sysconf(_SC_PAGESIZE);
    for (const auto& table : tables) {
        for (size_t k = 0; table.first != nullptr && k < table.bytes / sizeof(ElfW(Rela)); ++k) {
            const auto symbol = ELF64_R_SYM(table.first[k].r_info);
            if (symbol == 0 || std::strcmp(texts + symbols[symbol].st_name, request.name) != 0) continue;
            void** const slot = reinterpret_cast<void**>(object->dlpi_addr + table.first[k].r_offset);
            const auto start = reinterpret_cast<uintptr_t>(slot) / page * page;
            if (mprotect(reinterpret_cast<void*>(start), page, PROT_READ | PROT_WRITE) != 0) continue;
            *slot = request.replacement;
            ++request.replaced;
        }
    }
}

inline int visit(dl_phdr_info* object, size_t, void* data) {
    if (std::strstr(object->dlpi_name, LIBRARY) != nullptr || std::strstr(object->dlpi_name, "vdso") != nullptr)
        return 0;
    for (int k = 0; k < object->dlpi_phnum; ++k) {
        if (object->dlpi_phdr[k].p_type != PT_DYNAMIC) continue;
        replaceIn(object, *static_cast<Request*>(data),
                  reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + object->dlpi_phdr[k].p_vaddr));
    }
    return 0;
}

}  // namespace got

// Returns the number of slots that now lead to `replacement`; this library's own are left unchanged.
template <typename Function>
int redirect(const char* name, Function* replacement) {
    got::Request request{name, reinterpret_cast<void*>(replacement), 0};
    dl_iterate_phdr(got::visit, &request);
    return request.replaced;
}

}  // namespace cheat
