/* variables.cpp - the program's own symbol table: __shared__ variables are thread-local
 * objects, __device__ and __constant__ variables ordinary ones, so that the table has the
 * name, the place and the size of each. */
#include "../symbols.h"
#include "cluster.h"
#include "memory.h"

#include <algorithm>
#include <iterator>
#include <link.h>
#include <map>
#include <set>
#include <sstream>
#include <vector>

namespace wbcpu::check
{
static std::vector<variable> shared, global; /* global: by address */
shared_storage storage = {{}, 0, 1, nullptr, nullptr};
static uintptr_t data_end, dynamic_offset;
uintptr_t program_data;

static std::string own_name(const char *symbol)
{
    std::string name = demangled(symbol);
    size_t scope = name.rfind("::");
    return scope == std::string::npos ? name : name.substr(scope + 2);
}

/* Variables of the back end, and compiler-made guards of local statics. */
static bool internal(const std::string &symbol)
{
    if (symbol.compare(0, 4, "_ZGV") == 0 || symbol.find("wbcpu") != std::string::npos)
        return true;
    for (const char *name : {"threadIdx", "blockIdx", "blockDim", "gridDim"})
        if (symbol == name) return true;
    return false;
}

static void mark(uintptr_t offset, size_t bytes, uint16_t index)
{
    for (size_t word = offset / 4; word < (offset + bytes + 3) / 4; word++)
        if (word < thread_local_words()) storage.variable[word] = index;
}

static void add_shared(const char *symbol, uintptr_t offset, size_t bytes)
{
    bool dynamic = std::string(symbol) == "wbcpu_dynamic_shared";
    if (dynamic) dynamic_offset = offset;
    if (!dynamic && internal(symbol)) {
        mark(offset, bytes, internal_variable);
        return;
    }
    shared.push_back(
        {dynamic ? "dynamic shared memory" : own_name(symbol), offset, bytes, false,
         false, false, dynamic, 0});
    mark(offset, bytes, (uint16_t)shared.size());
}

static void add_symbol(const char *name, const ElfW(Sym) & symbol, uintptr_t load)
{
    int type = symbol.st_info & 15;
    if (!symbol.st_size) return;
    if (type == STT_TLS) add_shared(name, symbol.st_value, symbol.st_size);
    if (type == STT_OBJECT && !internal(name))
        global.push_back(
            {own_name(name), load + symbol.st_value, symbol.st_size, false, false, false,
             false, 0});
}

/* What the translator lists (known.c): names, with a + if in global memory, a = if managed,
 * separated by blanks and NULs. A name that two variables share tells nothing. */
extern "C" const char __start_wbcpu_listed[] __attribute__((weak, visibility("hidden"))),
    __stop_wbcpu_listed[] __attribute__((weak, visibility("hidden")));

static void mark_variables()
{
    if (!__start_wbcpu_listed) return;
    std::string names(__start_wbcpu_listed, __stop_wbcpu_listed);
    std::replace(names.begin(), names.end(), '\0', ' ');
    std::istringstream words(names);
    std::set<std::string> listed{std::istream_iterator<std::string>(words), {}};
    std::map<std::string, int> variables;
    for (const variable &v : global)
        variables[v.name]++;
    for (variable &v : global) {
        if (variables[v.name] != 1) continue;
        v.host = listed.count(v.name);
        v.managed = !v.host && listed.count("=" + v.name);
        v.device = v.managed || (!v.host && listed.count("+" + v.name));
    }
}

static int find_program(dl_phdr_info *about, size_t, void *)
{
    for (int i = 0; i < about->dlpi_phnum; i++) {
        const ElfW(Phdr) &h = about->dlpi_phdr[i];
        uintptr_t start = about->dlpi_addr + h.p_vaddr, end = start + h.p_memsz;
        if (h.p_type == PT_TLS)
            storage.bytes = (h.p_memsz + h.p_align - 1) / h.p_align * h.p_align;
        if (h.p_type != PT_LOAD) continue;
        if (!program_data || start < program_data) program_data = start;
        data_end = std::max(data_end, end);
    }
    return 1; /* the first object is the program itself */
}

void read_variables()
{
    dl_iterate_phdr(find_program, nullptr);
    storage.variable = new uint16_t[thread_local_words()]();
    uintptr_t load = load_address();
    if (!each_symbol([=](const char *name, const ElfW(Sym) & symbol) {
            add_symbol(name, symbol, load);
        }))
        refuse("check mode cannot read its own program");
    storage.all = shared.data();
    std::sort(global.begin(), global.end(), [](const variable &a, const variable &b) {
        return a.start < b.start;
    });
    enter_thread_local(0, 1);
    mark_variables();
}
size_t program_data_bytes()
{
    return data_end - program_data;
}
void each_device_variable(void (*use)(const variable &))
{
    for (const variable &v : global)
        if (v.device) use(v);
}

extern "C" void wbcpu_checked_shared(const void *array, size_t element)
{
    uint16_t index = storage.variable[shared_offset((uintptr_t)array) / 4];
    if (index && index != internal_variable) shared[index - 1u].element = element;
}

void enter_thread_local(int rank, int size)
{
    storage.start[rank] = own_storage();
    storage.ranks = size;
}
uintptr_t own_storage()
{
    return (uintptr_t)wbcpu_dynamic_shared - dynamic_offset;
}
size_t thread_local_words()
{
    return storage.bytes / 4 + 1;
}
bool in_program_data(uintptr_t address)
{
    return address >= program_data && address < data_end;
}
const variable *closest_shared(uintptr_t address)
{
    uintptr_t offset = shared_offset(address);
    const variable *best = nullptr;
    size_t least = SIZE_MAX;
    for (const variable &v : shared) {
        size_t distance =
            offset < v.start ? v.start - offset : offset - v.start - v.bytes;
        if (distance < least) best = &v, least = distance;
    }
    return best;
}
static bool has_name(const std::vector<variable> &all, const std::string &name)
{
    return std::any_of(
        all.begin(), all.end(), [&](const variable &v) { return v.name == name; });
}
bool is_shared_name(const std::string &name)
{
    return has_name(shared, name);
}
bool is_global_name(const std::string &name)
{
    return has_name(global, name);
}
/* The first variable after the address. */
static std::vector<variable>::iterator after(uintptr_t address)
{
    return std::upper_bound(
        global.begin(), global.end(), address,
        [](uintptr_t x, const variable &v) { return x < v.start; });
}
const variable *global_variable(uintptr_t address)
{
    if (!in_program_data(address)) return nullptr; /* often */
    auto next = after(address);
    if (next == global.begin()) return nullptr;
    const variable &v = *std::prev(next);
    return address - v.start < v.bytes ? &v : nullptr;
}
bool near_device_variable(uintptr_t address)
{
    if (address - program_data + WBCPU_RED_ZONE >
        program_data_bytes() + 2 * WBCPU_RED_ZONE)
        return false;
    auto next = after(address);
    if (next != global.end() && next->device && next->start - address <= WBCPU_RED_ZONE)
        return true;
    if (next == global.begin()) return false;
    const variable &v = *std::prev(next);
    return v.device && address - (v.start + v.bytes) < WBCPU_RED_ZONE;
}
}  // namespace wbcpu::check
