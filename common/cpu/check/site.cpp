/* site.cpp - from the address of an instruction to its line in the program.
 *
 * libbacktrace, a part of gcc, reads the debug information of the running program. Where
 * functions are inlined, an instruction belongs to several lines: the innermost one that
 * is not in a header of the workbook is shown, because there the learner wrote something.
 */
#include "../symbols.h"
#include "check.h"

#include <backtrace.h>
#include <dlfcn.h>
#include <fstream>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace wbcpu::check
{
/* libbacktrace reads the debug information of all objects. To read that of the C library,
 * where it is installed, takes 0.1 s, and no source line is in it. The first object is the
 * program. */
typedef int object_use(dl_phdr_info *, size_t, void *);
struct first_use {
    object_use *use;
    void *data;
};
static bool only_program;

static int use_first(dl_phdr_info *about, size_t bytes, void *first)
{
    auto f = static_cast<first_use *>(first);
    f->use(about, bytes, f->data);
    return 1;
}
extern "C" int dl_iterate_phdr(object_use *use, void *data)
{
    static auto all = (int (*)(object_use *, void *))dlsym(RTLD_NEXT, "dl_iterate_phdr");
    first_use first = {use, data};
    return only_program ? all(use_first, &first) : all(use, data);
}

static void ignore_error(void *, const char *, int) {}

static backtrace_state *debug_information()
{
    static backtrace_state *state =
        backtrace_create_state(nullptr, 0, ignore_error, nullptr);
    return state;
}

std::string shown_path(std::string file)
{
    /* never destroyed: the report is written when static objects are gone */
    static const std::string &here = *new std::string([] {
        char path[4096];
        return getcwd(path, sizeof path) ? std::string(path) + "/" : std::string("/");
    }());
    if (here.size() > 1 && file.compare(0, here.size(), here) == 0)
        file.erase(0, here.size());
    if (file.compare(0, 2, "./") == 0) file.erase(0, 2);
    return file;
}

/* Headers of the back end, of the device layer and of the compiler. */
static bool in_library(const std::string &file)
{
    for (const char *folder :
         {"common/cpu/", "common/cuda/", "/c++/", "/lib/gcc/", "common/wb.h"})
        if (file.find(folder) != std::string::npos) return true;
    return false;
}

static int
add_frame(void *frames, uintptr_t, const char *file, int line, const char *name)
{
    if (file)
        static_cast<std::vector<place> *>(frames)->push_back(
            {shown_path(file), name ? function_name(name) : "", line, in_library(file), ""});
    return 0;
}

const place *place_of(const void *pc)
{
    static auto &known = *new std::unordered_map<const void *, place *>;
    place *&at = known[pc];
    if (at) return at;
    std::vector<place> frames; /* innermost first */
    only_program = true;
    if (pc)
        backtrace_pcinfo(
            debug_information(), (uintptr_t)pc - 1, add_frame, ignore_error, &frames);
    only_program = false;
    at = new place{"?", "?", 0, true, ""};
    for (const place &frame : frames) {
        std::string call = at->function == "?" ? "" : at->function;
        *at = frame;
        at->call = call;
        if (!frame.library) break;
    }
    return at;
}

std::string text_of(const place *at)
{
    return at->file + ":" + std::to_string(at->line);
}

/* #line may name any file, /dev/zero too. */
static bool is_source(const std::string &file)
{
    constexpr off_t largest = 16 << 20;
    struct stat about;
    return stat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
           about.st_size <= largest;
}

std::string read_line(const std::string &file, int number)
{
    std::string text;
    if (!is_source(file)) return "";
    std::ifstream in(file);
    for (int i = 0; i < number; i++)
        if (!std::getline(in, text)) return "";
    return text;
}

std::string source_line(const place *at)
{
    std::string text = read_line(at->file, at->line);
    size_t first = text.find_first_not_of(" \t");
    return first == std::string::npos ? "" : text.substr(first);
}

/* --- sites -------------------------------------------------------------------------- */

site sites[max_sites];
uint16_t site_slot[site_slots];
static unsigned used = 1;

site *add_site(const void *pc, unsigned bytes, bool write)
{
    unsigned i = first_slot(pc, write);
    while (site_slot[i])
        i = (i + 1) % site_slots;
    if (used == max_sites)
        refuse("check mode: the program has more than %u loads and stores", max_sites);
    site_slot[i] = (uint16_t)used;
    site *s = &sites[used];
    s->pc = pc;
    s->number = (uint16_t)used++;
    s->bytes = (uint8_t)bytes;
    s->write = write;
    return s;
}
void forget_told()
{
    for (unsigned i = 1; i < used; i++)
        sites[i].told = false;
}
const place *site::at()
{
    if (!known_place) known_place = place_of(pc);
    return known_place;
}
}  // namespace wbcpu::check
