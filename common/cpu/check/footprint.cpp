/* footprint.cpp - which bytes an operation reads and writes: bit maps of the pages that it
 * touches while it runs, sorted ranges afterwards. */
#include "host.h"

#include <algorithm>
#include <string.h>
#include <unordered_map>

namespace wbcpu::check
{
static auto &pages = *new std::unordered_map<uintptr_t, page_map *>;
static auto &unused = *new std::vector<page_map *>;
static ranges long_ranges[TOUCH_TYPES]; /* of copies */
page_used last_pages[pages_remembered];
bool recording;

static page_map *page_number(uintptr_t number)
{
    page_used &last = last_pages[number % pages_remembered];
    if (last.map && last.number == number) return last.map;
    page_map *&page = pages[number];
    if (!page) {
        if (unused.empty()) {
            page = new page_map();
        } else {
            page = unused.back();
            unused.pop_back();
            memset(page, 0, sizeof *page);
        }
    }
    last = {number, page};
    return page;
}

void record(uintptr_t address, size_t bytes, touch_type type)
{
    if (bytes > 16) {
        long_ranges[type].push_back({address, address + bytes});
        return;
    }
    for (uintptr_t end = address + bytes; address < end;) {
        uintptr_t bit = address % footprint_page, in_word = 64 - bit % 64,
                  n = end - address < in_word ? end - address : in_word;
        page_number(address / footprint_page)->touched[type][bit / 64] |=
            ((1ull << n) - 1) << bit % 64;
        address += n;
    }
}

static touch_type type_of(const access &a)
{
    return a.atomic ? ATOMICS : a.write ? WRITES : READS;
}
void device_touched(worker *w, const access &a)
{
    record(a.address, a.bytes, type_of(a));
    check_overlap(w, a);
}
void other_memory_touched(const access &a)
{
    if (recording || mapped_for_device(a.address, a.bytes))
        record(a.address, a.bytes, type_of(a));
}

static void add(ranges &all, uintptr_t start, uintptr_t end)
{
    if (!all.empty() && all.back().end == start)
        all.back().end = end;
    else
        all.push_back({start, end});
}

/* Appends the set bits of a page as ranges. */
static void add_page(ranges &all, uintptr_t start, const uint64_t *touched)
{
    for (unsigned i = 0; i < footprint_page / 64; i++, start += 64) {
        if (touched[i] == UINT64_MAX) {
            add(all, start, start + 64);
            continue;
        }
        uint64_t rest = touched[i];
        for (unsigned at = 0; rest;) {
            unsigned zeros = (unsigned)__builtin_ctzll(rest);
            rest >>= zeros;
            at += zeros;
            unsigned ones = (unsigned)__builtin_ctzll(~rest);
            add(all, start + at, start + at + ones);
            rest = ones < 64 ? rest >> ones : 0;
            at += ones;
        }
    }
}

/* Sorts the ranges and joins those that meet. */
static void settle(ranges &all)
{
    std::sort(all.begin(), all.end(), [](const range &a, const range &b) {
        return a.start < b.start;
    });
    size_t used = 0;
    for (const range &r : all)
        if (used && r.start <= all[used - 1].end)
            all[used - 1].end = std::max(all[used - 1].end, r.end);
        else
            all[used++] = r;
    all.resize(used);
}

footprint take_record()
{
    footprint f;
    std::vector<uintptr_t> numbers;
    for (const auto &p : pages)
        numbers.push_back(p.first);
    std::sort(numbers.begin(), numbers.end());
    for (uintptr_t number : numbers) {
        page_map *page = pages[number];
        for (int type = 0; type < TOUCH_TYPES; type++)
            add_page(f.of[type], number * footprint_page, page->touched[type]);
        unused.push_back(page);
    }
    for (int type = 0; type < TOUCH_TYPES; type++) {
        ranges &r = long_ranges[type];
        if (r.empty()) continue;
        f.of[type].insert(f.of[type].end(), r.begin(), r.end());
        settle(f.of[type]);
        r.clear();
    }
    pages.clear();
    for (page_used &last : last_pages)
        last.map = nullptr;
    return f;
}

void add_footprint(footprint &all, const footprint &more)
{
    for (int type = 0; type < TOUCH_TYPES; type++) {
        if (more.of[type].empty()) continue;
        all.of[type].insert(
            all.of[type].end(), more.of[type].begin(), more.of[type].end());
        settle(all.of[type]);
    }
}

const range *range_in(const ranges &all, uintptr_t start, uintptr_t end)
{
    auto after =
        std::upper_bound(all.begin(), all.end(), start, [](uintptr_t x, const range &r) {
            return x < r.end;
        }); /* the first that ends later */
    return after != all.end() && after->start < end ? &*after : nullptr;
}

static bool meet(const ranges &a, const ranges &b, uintptr_t *where)
{
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        if (a[i].end <= b[j].start) {
            i++;
        } else if (b[j].end <= a[i].start) {
            j++;
        } else {
            *where = std::max(a[i].start, b[j].start);
            return true;
        }
    }
    return false;
}

bool find_conflict(const footprint &first, const footprint &second, conflict *found)
{
    for (int a = WRITES; a >= READS; a--) /* two writes are the plainest conflict */
        for (int b : {WRITES, READS, ATOMICS})
            if ((a == WRITES || b != READS) &&
                meet(first.of[a], second.of[b], &found->address)) {
                found->first_writes = a != READS;
                found->second_writes = b != READS;
                return true;
            }
    for (int b : {WRITES, READS})
        if (meet(first.of[ATOMICS], second.of[b], &found->address)) {
            found->first_writes = true;
            found->second_writes = b != READS;
            return true;
        }
    return false;
}
}  // namespace wbcpu::check
