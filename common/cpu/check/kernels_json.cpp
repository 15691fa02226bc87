/* kernels_json.cpp - the counts in the report: an object per kernel, with its buffers and
 * its lines. */
#include "counts.h"

namespace wbcpu::check
{
static const char *const kind_names[] = {"read",  "write",    "atomic",
                                         "async", "tma_load", "tma_store"};
constexpr int kind_count = 6;

/* cp.async reads device memory asynchronously and writes shared memory. */
static access_kind listed_as(const site *at, bool shared)
{
    access_kind kind = kind_of(at);
    if (kind == MATRIX || (kind >= ASYNC && shared)) return at->write ? WRITE : READ;
    return kind;
}

struct line_tally {
    tally of[2][kind_count]; /* [1]: shared memory */
    line_events events;
    const site_tally *worst;
};
struct line_key {
    std::string file;
    int line;
    bool operator<(const line_key &b) const
    {
        return file != b.file ? file < b.file : line < b.line;
    }
};
struct named_line {
    line_tally sum;
    std::string function;
};
typedef std::map<line_key, named_line> line_map;

static bool worse(const passes &a, const passes &b)
{
    return (unsigned long long)a.count * b.ideal > (unsigned long long)b.count * a.ideal;
}

static named_line &line_of(line_map *lines, const place *at)
{
    named_line &l = (*lines)[{at->file, at->line}];
    l.function = at->function;
    return l;
}

static void add(tally *sum, const tally &t)
{
    sum->requests += t.requests;
    sum->count += t.count;
    sum->ideal += t.ideal;
    sum->bytes += t.bytes;
}

static line_map lines_of(const kernel_tally &k, tally (*total)[kind_count])
{
    line_map lines;
    for (size_t i = 0; i < k.sites.size(); i++) {
        const site_tally *s = k.sites[i];
        if (!s) continue;
        bool shared = i % 2;
        access_kind kind = listed_as(s->worst.at, shared);
        line_tally &l = line_of(&lines, s->worst.at->at()).sum;
        add(&l.of[shared][kind], s->sum);
        add(&total[shared][kind], s->sum);
        if (kind == TMA_LOAD || kind == TMA_STORE) continue; /* no lanes to show */
        if (!l.worst || worse(s->worst_cost, l.worst->worst_cost)) l.worst = s;
    }
    for (auto &e : k.events) {
        line_tally &l = line_of(&lines, place_of(e.first)).sum;
        l.events.barriers += e.second.barriers;
        for (int i = 0; i < COLLECTIVES; i++)
            l.events.collectives[i] += e.second.collectives[i];
    }
    return lines;
}

/* --- text --------------------------------------------------------------------------- */

static std::string space_json(const tally *of, bool shared, bool all)
{
    std::string s;
    for (int kind = 0; kind < kind_count; kind++) {
        const tally &t = of[kind];
        if (shared && kind >= ASYNC) continue;
        if (!all && !t.requests) continue;
        s += format(
            "%s\"%s\":{\"requests\":%llu,\"%s\":%llu,\"ideal\":%llu,\"bytes\":%llu}",
            s.empty() ? "" : ",", kind_names[kind], t.requests,
            shared ? "wavefronts" : "sectors", t.count, t.ideal, t.bytes);
    }
    return "{" + s + "}";
}

static std::string collectives_json(const unsigned long long *n, bool all)
{
    static const char *const names[] = {"shuffle", "sync",  "vote",
                                        "reduce",  "match", "matrix"};
    std::string s;
    for (int i = 0; i < COLLECTIVES; i++)
        if (all || n[i])
            s += format("%s\"%s\":%llu", s.empty() ? "" : ",", names[i], n[i]);
    return "{" + s + "}";
}

static std::string worst_json(const site_tally &s)
{
    const request &r = s.worst;
    uint64_t base = ~0ull, row = r.shared ? 128 : 32;
    for (uint32_t m = r.lanes; m; m &= m - 1)
        base = std::min(base, r.offset[__builtin_ctz(m)] / row * row);
    std::string lanes;
    for (int l = 0; l < 32; l++) {
        if (l) lanes += ',';
        if (r.lanes >> l & 1)
            lanes += std::to_string(r.offset[l] - base);
        else
            lanes += "null";
    }
    return format(
        "{\"space\":\"%s\",\"access\":\"%s\",\"bytes\":%u,\"lanes\":[%s],\"%s\":%u,"
        "\"ideal\":%u}",
        r.shared ? "shared" : "global", kind_names[listed_as(r.at, r.shared)], r.bytes,
        lanes.c_str(), r.shared ? "wavefronts" : "sectors", s.worst_cost.count,
        s.worst_cost.ideal);
}

static std::string line_json(const line_key &key, const named_line &l)
{
    std::string s = "{\"file\":" + quoted(key.file) + format(",\"line\":%d", key.line) +
                    ",\"function\":" + quoted(l.function);
    for (int shared = 0; shared < 2; shared++) {
        std::string of = space_json(l.sum.of[shared], shared, false);
        if (of == "{}") continue;
        s += shared ? ",\"shared\":" : ",\"global\":";
        s += of;
    }
    if (l.sum.events.barriers) s += format(",\"barriers\":%llu", l.sum.events.barriers);
    std::string collectives = collectives_json(l.sum.events.collectives, false);
    if (collectives != "{}") s += ",\"collectives\":" + collectives;
    if (l.sum.worst) s += ",\"worst\":" + worst_json(*l.sum.worst);
    return s + "}";
}

static std::string ratio(unsigned long long a, unsigned long long b)
{
    return format("%.4g", b ? (double)a / (double)b : 0.0);
}

static std::string buffer_json(const buffer_tally &b)
{
    std::string s = "{\"name\":" + quoted(b.name) + format(",\"bytes\":%zu", b.bytes);
    if (b.at) s += ",\"file\":" + quoted(b.at->file) + format(",\"line\":%d", b.at->line);
    static const char *const text[] = {"read", "written"};
    for (int i = 0; i < 2; i++)
        s += format(
            ",\"%s_bytes\":%llu,\"%s_distinct\":%llu,\"%s\":%s", text[i], b.requested[i],
            text[i], b.distinct[i], i ? "writes" : "reads",
            ratio(b.requested[i], b.distinct[i]).c_str());
    return s + "}";
}

static std::string index_json(dim3 i)
{
    return format("[%u,%u,%u]", i.x, i.y, i.z);
}

static std::string kernel_json(const kernel_tally &k)
{
    tally total[2][kind_count] = {};
    line_map lines = lines_of(k, total);
    const gpu &g = chosen_gpu();
    std::string s = "{\"name\":" + quoted(k.name) + ",\"file\":" + quoted(k.file);
    s += format(
        ",\"line\":%d,\"launches\":%llu,\"grid\":%s,\"block\":%s,"
        "\"shared_bytes\":%zu,\"blocks\":%llu,\"warps\":%llu,\"barriers\":%llu,"
        "\"collectives\":%s,\"float_atomics\":%llu,\"tensor\":%llu,\n",
        k.line, k.launches, index_json(k.grid).c_str(), index_json(k.block).c_str(),
        k.shared_bytes, k.blocks, k.warps, k.barriers,
        collectives_json(k.collectives, true).c_str(), k.float_atomics, k.tensor);
    s += " \"global\":" + space_json(total[0], false, true) +
         ",\n \"shared\":" + space_json(total[1], true, true) + ",\n";
    s += format(
        " \"dram\":{\"read\":%llu,\"written\":%llu,\"model\":\"%s, %llu MB L2\"},\n"
        " \"least\":{\"read\":%llu,\"written\":%llu},\n \"buffers\":[",
        k.dram[0], k.dram[1], g.label, g.l2_bytes >> 20, k.least[0], k.least[1]);
    for (const buffer_tally &b : k.buffers)
        s += (&b == &k.buffers.front() ? "\n  " : ",\n  ") + buffer_json(b);
    s += "],\n \"lines\":[";
    for (auto &l : lines)
        s += (&l == &*lines.begin() ? "\n  " : ",\n  ") + line_json(l.first, l.second);
    return s + "]}";
}

std::string kernels_json()
{
    std::string s = "[";
    for (const kernel_tally *k : kernels)
        s += (k == kernels.front() ? "\n" : ",\n") + kernel_json(*k);
    return s + "]";
}
}  // namespace wbcpu::check
