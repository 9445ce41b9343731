// kind: memory
// tries: maps a library whose table has a million symbols, all with one name of 32 MiB
// ended by: limits for names and tables, or a time limit for reading
// seconds: 60
#include <elf.h>
#include <sys/mman.h>

#include <cstdlib>

#include "../cheat.h"
#include "../runner.h"

int32_t cheat::started() {
    constexpr size_t kSymbols = 1000000, kName = 32u << 20;
    struct {
        Elf64_Ehdr head;
        Elf64_Shdr sections[2];
    } start = {};
    std::memcpy(start.head.e_ident,
                "\x7f"
                "ELF\x02\x01\x01",
                7);
    start.head.e_type = ET_DYN;
    start.head.e_shoff = sizeof start.head;
    start.head.e_shentsize = sizeof(Elf64_Shdr);
    start.head.e_shnum = 2;
    start.sections[0].sh_type = SHT_DYNSYM;
    start.sections[0].sh_offset = sizeof start;
    start.sections[0].sh_size = kSymbols * sizeof(Elf64_Sym);
    start.sections[0].sh_link = 1;
    start.sections[1].sh_offset = sizeof start + start.sections[0].sh_size;
    Elf64_Sym symbol = {};
    symbol.st_shndx = 1;
    std::string content(reinterpret_cast<const char*>(&start), sizeof start);
    for (size_t k = 0; k < kSymbols; ++k) content.append(reinterpret_cast<const char*>(&symbol), sizeof symbol);
    content.append(kName, 'x').append(1, '\0');
    const char* const temporary = std::getenv("TMPDIR");
    const std::string path = std::string(temporary == nullptr ? FOLDER "/tmp" : temporary) + "/kernels.so";
    if (!append(path, content)) return 0;
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file, 0);
    return 0;
}
