/* findings.cpp - one report per cause: the first is printed, the others are counted. At
 * exit everything is written as JSON to the file that WB_CHECK_JSON names.
 */
#include "check.h"
#include "hooks.h"
#include "host.h"
#include "report.h"

#include <deque>
#include <map>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace wbcpu::check
{
static std::deque<finding> &findings = *new std::deque<finding>;
constexpr int exit_status =
    86; /* of a program with errors, as compute-sanitizer's users know */
constexpr size_t printed_most = 20;

std::string format(const char *text, ...)
{
    char buffer[2048];
    va_list arguments;
    va_start(arguments, text);
    vsnprintf(buffer, sizeof buffer, text, arguments);
    va_end(arguments);
    return buffer;
}

uint3 index_in_block(unsigned t)
{
    return index_of(t, blockDim);
}
uint3 index_in_grid(unsigned long long b)
{
    return block_index(self()->job->launch, b);
}
std::string thread_text(uint3 b, uint3 t)
{
    return format("block (%u,%u,%u) thread (%u,%u,%u)", b.x, b.y, b.z, t.x, t.y, t.z);
}

/* --- one per cause ------------------------------------------------------------------ */

typedef std::tuple<std::string, int> line;
typedef std::tuple<std::string, line, line> cause;
static auto &known = *new std::map<cause, finding *>;

finding *find(const char *kind, const place *at, const place *other)
{
    line here(at->file, at->line), there = here;
    if (other) there = line(other->file, other->line);
    if (there < here) std::swap(here, there); /* either access may come first */
    finding *&f = known[cause(kind, here, there)];
    if (f) {
        f->count++;
        return nullptr;
    }
    findings.push_back({});
    f = &findings.back();
    f->kind = kind;
    f->at = at;
    f->other = other;
    worker *w = self();
    if (w && w->job) {
        f->kernel = w->job->launch.name;
        f->block = blockIdx;
        f->thread = index_in_block(w->thread);
    }
    return f;
}

static void print_source(const place *at)
{
    std::string line = source_line(at);
    if (!line.empty()) fprintf(stderr, "%7d | %s\n", at->line, line.c_str());
}

void publish(finding *f)
{
    if (findings.size() > printed_most || getenv("WB_CHECK_QUIET")) return;
    fflush(stdout);
    std::string who;
    if (!f->kernel.empty())
        who = "in " + f->kernel + ", " + thread_text(f->block, f->thread) + " ";
    fprintf(
        stderr, "\n%s: %s: %s: %s%s\n", text_of(f->at).c_str(),
        f->note ? "note" : "error", f->kind, who.c_str(), f->message.c_str());
    print_source(f->at);
    if (f->other && f->other != f->at) print_source(f->other);
    if (!f->detail.empty()) fputs(f->detail.c_str(), stderr);
    if (!f->fix.empty()) fprintf(stderr, "        fix: %s\n", f->fix.c_str());
}

struct doubtful {
    finding *f;
    const site *read;
};
static auto &doubts = *new std::vector<doubtful>;

void publish_unless_compared(finding *f, const site *read)
{
    doubts.push_back({f, read});
}
void settle_compared()
{
    for (const doubtful &d : doubts)
        if (d.read->compared)
            d.f->dropped = true;
        else
            publish(d.f);
    doubts.clear();
}

/* --- JSON --------------------------------------------------------------------------- */

std::string quoted(const std::string &text)
{
    std::string out = "\"";
    for (unsigned char c : text) {
        if (c == '"' || c == '\\')
            out += '\\', out += (char)c;
        else if (
            c < 32 || c >= 127) /* source text may hold anything: one escape a byte */
            out += format("\\u%04x", c);
        else
            out += (char)c;
    }
    return out + "\"";
}

static std::string index_json(uint3 i)
{
    return format("[%u,%u,%u]", i.x, i.y, i.z);
}

static std::string finding_json(const finding &f)
{
    std::string s = format(
        "{\"kind\":\"%s\",\"severity\":\"%s\",\"file\":%s,\"line\":%d,\"count\":%llu,",
        f.kind, f.note ? "note" : "error", quoted(f.at->file).c_str(), f.at->line,
        f.count);
    if (!f.kernel.empty())
        s += "\"kernel\":" + quoted(f.kernel) + ",\"block\":" + index_json(f.block) +
             ",\"thread\":" + index_json(f.thread) + ",";
    if (f.other)
        s += "\"other\":{\"file\":" + quoted(f.other->file) +
             format(",\"line\":%d,", f.other->line) +
             "\"block\":" + index_json(f.other_block) +
             ",\"thread\":" + index_json(f.other_thread) +
             ",\"access\":" + quoted(f.other_access) + "},";
    s += "\"what\":" + quoted(f.what) + ",\"message\":" + quoted(f.message) +
         ",\"detail\":" + quoted(f.detail) + ",\"fix\":" + quoted(f.fix) + "}";
    return s;
}

static std::string program_name()
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    return n > 0 ? std::string(path, (size_t)n) : "?";
}

std::string report_json()
{
    std::string s = "{\"program\":" + quoted(program_name()) + ",\n\"findings\":[";
    const char *before = "\n";
    for (const finding &f : findings) {
        if (f.dropped) continue;
        s += before + finding_json(f);
        before = ",\n";
    }
    return s + "],\n\"gpu\":" + gpu_json() + ",\n\"kernels\":" + kernels_json() + "}\n";
}

extern "C" char *wbcpu_check_report()
{
    settle_equal_writes();
    settle_compared();
    leaks("the function returns");
    char *text = strdup(report_json().c_str());
    findings.clear();
    known.clear();
    forget_told();
    forget_counts();
    forget_copies_found();
    return text;
}

size_t error_count()
{
    size_t errors = 0;
    for (const finding &f : findings)
        errors += !f.note && !f.dropped;
    return errors;
}

/* False if the report could not be written. */
static bool write_report()
{
    const char *path = getenv("WB_CHECK_JSON");
    if (!path || !*path) return true;
    std::string text = report_json();
    FILE *file = fopen(path, "w");
    bool ok = file && fwrite(text.data(), 1, text.size(), file) == text.size();
    if (file && fclose(file) != 0) ok = false;
    if (!ok) fprintf(stderr, "error: cannot write the report WB_CHECK_JSON=%s\n", path);
    return ok;
}

static void print_summary()
{
    size_t errors = error_count();
    unsigned long long times = 0;
    for (const finding &f : findings)
        times += f.note || f.dropped ? 0 : f.count;
    if (errors)
        fprintf(
            stderr, "\ncheck: %zu error%s, found %llu time%s\n", errors,
            errors == 1 ? "" : "s", times, times == 1 ? "" : "s");
    if (findings.size() > printed_most)
        fprintf(stderr, "check: only the first %zu were printed\n", printed_most);
}

void finish(int status)
{
    static bool done;
    if (done) return;
    done = true;
    end_of_program(true);
    settle_compared();
    fflush(nullptr); /* _exit does not */
    if (!getenv("WB_CHECK_QUIET")) print_summary();
    bool written = write_report();
    if (error_count()) status = exit_status;
    if (!written) status = 2;
    if (status) _exit(status);
}
}  // namespace wbcpu::check
