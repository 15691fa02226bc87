/* symbols.cpp - names from the program's own symbol table: of a kernel that a function of
 * the device layer launches, which knows only its address; in check mode of variables. */
#include "symbols.h"
#include "scheduler.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>

namespace wbcpu
{
static void read_file(
    const char *file, const std::function<void(const char *, const ElfW(Sym) &)> &use)
{
    auto header = (const ElfW(Ehdr) *)file;
    auto section = (const ElfW(Shdr) *)(file + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
        if (section[i].sh_type != SHT_SYMTAB) continue;
        auto symbol = (const ElfW(Sym) *)(file + section[i].sh_offset);
        const char *names = file + section[section[i].sh_link].sh_offset;
        for (size_t n = section[i].sh_size / sizeof *symbol; n--; symbol++)
            use(names + symbol->st_name, *symbol);
    }
}

bool each_symbol(const std::function<void(const char *, const ElfW(Sym) &)> &use)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (fd < 0) return false;
    void *file = MAP_FAILED;
    if (fstat(fd, &about) == 0)
        file = mmap(nullptr, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (file == MAP_FAILED) return false;
    read_file(static_cast<const char *>(file), use);
    munmap(file, (size_t)about.st_size);
    return true;
}

static int first_object(dl_phdr_info *about, size_t, void *load)
{
    *(uintptr_t *)load = about->dlpi_addr;
    return 1; /* the program itself */
}
uintptr_t load_address()
{
    uintptr_t load = 0;
    dl_iterate_phdr(first_object, &load);
    return load;
}

std::string demangled(const char *symbol)
{
    int status;
    char *text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
    std::string name = text ? text : symbol;
    free(text);
    return name;
}

std::string function_name(const char *symbol)
{
    static const std::string unnamed = "(anonymous namespace)::";
    std::string result = demangled(symbol);
    for (size_t at; (at = result.find(unnamed)) != std::string::npos;)
        result.erase(at, unnamed.size());
    size_t arguments = result.find('(');
    if (arguments != std::string::npos && arguments > 0) result.resize(arguments);
    size_t type = result.find_last_of(' '); /* of a template: its return type */
    if (type != std::string::npos && result.find('<') > type) result.erase(0, type + 1);
    return result;
}

const char *function_at(const void *start)
{
    static std::mutex lock;
    static auto &known = *new std::unordered_map<const void *, std::string>;
    std::lock_guard<std::mutex> hold(lock);
    auto at = known.find(start);
    if (at == known.end()) {
        std::string name;
        uintptr_t value = (uintptr_t)start - load_address();
        each_symbol([&](const char *symbol, const ElfW(Sym) & s) {
            if ((s.st_info & 15) == STT_FUNC && s.st_value == value)
                name = function_name(symbol);
        });
        at = known.emplace(start, name).first;
    }
    return at->second.empty() ? nullptr : at->second.c_str();
}

/* --- the next launch ---------------------------------------------------------------- */

static thread_local next_launch next = {nullptr, dim3(1), false};

extern "C" void wbcpu_name_next_launch(const void *kernel, dim3 cluster, bool cooperative)
{
    next = {function_at(kernel), cluster, cooperative};
}
next_launch take_next_launch()
{
    next_launch now = next;
    next = {nullptr, dim3(1), false};
    return now;
}
}  // namespace wbcpu
