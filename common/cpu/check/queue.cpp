/* queue.cpp - streams as queues. Work runs as late as the program allows: when the host
 * waits for it, or something that comes after it on a stream that the host waits for. So a
 * program that forgets to wait sees old data, and what runs late is known to be unordered.
 *
 * The order is that of the CUDA model. Each operation knows, for every stream, how many
 * operations come before it: those of its stream, those before an event that its stream
 * waits for, those that the host has waited for, and for the legacy default stream those
 * of all blocking streams (and the reverse). If neither of two operations comes before the
 * other, they must not touch the same bytes, unless both only read: stream-race.
 */
#include "../stream.h"
#include "host.h"
#include "host_hooks.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <unordered_map>

namespace wbcpu::check
{
struct stream_state {
    unsigned id;
    bool blocking;  /* synchronizes with the legacy default stream */
    progress after; /* what comes before its next operation */
    int asked;      /* calls of cudaStreamQuery that found it busy */
};
struct event_state {
    progress after;
    unsigned long long recording; /* the index of cudaEventRecord */
    int asked;
};

typedef std::shared_ptr<operation> operation_ptr;
static std::recursive_mutex &lock = *new std::recursive_mutex;
static auto &streams = *new std::unordered_map<cudaStream_t, stream_state>;
static auto &events = *new std::unordered_map<cudaEvent_t, event_state>;
static auto &queued = *new std::deque<operation_ptr>;    /* in the order of the calls */
static auto &finished = *new std::vector<operation_ptr>; /* later ones may be unordered */
static auto &counts = *new std::vector<unsigned>;        /* operations of each stream */
static progress &host = *new progress;
static operation_ptr &last = *new operation_ptr;
static unsigned long long enqueued;
thread_local operation *running;
bool unfinished;

constexpr size_t queue_limit = 1024, finished_limit = 4096;
constexpr int queries_busy = 3; /* cudaStreamQuery says "not ready" that often */

bool comes_before(const operation &o, const progress &p)
{
    return o.stream < p.size() && o.number <= p[o.stream];
}
static bool unordered(const operation &a, const operation &b)
{
    return !comes_before(a, b.after) && !comes_before(b, a.after);
}
const progress &host_progress()
{
    return host;
}
static void join(progress &p, const progress &other)
{
    if (p.size() < other.size()) p.resize(other.size());
    for (size_t i = 0; i < other.size(); i++)
        p[i] = std::max(p[i], other[i]);
}

static bool is_legacy(cudaStream_t s)
{
    return !s || s == cudaStreamLegacy;
}
static stream_state &state_of(cudaStream_t s)
{
    if (is_legacy(s)) s = nullptr;
    auto found = streams.find(s);
    if (found != streams.end()) return found->second;
    bool blocking = !s || s == cudaStreamPerThread || !(s->flags & cudaStreamNonBlocking);
    counts.push_back(0);
    return streams[s] = stream_state{(unsigned)counts.size() - 1, blocking, {}, 0};
}
/* What comes before an operation that is enqueued now. */
static progress before_next(cudaStream_t s)
{
    stream_state &state = state_of(s), &legacy = state_of(nullptr);
    progress p = state.after;
    join(p, host);
    if (is_legacy(s)) {
        for (auto &other : streams)
            if (other.second.blocking) join(p, other.second.after);
    } else if (state.blocking) {
        join(p, legacy.after);
    }
    return p;
}

/* --- running ------------------------------------------------------------------------ */

static void report(const operation &x, const operation &y, const conflict &c)
{
    bool swap = y.index < x.index;
    const operation &later = swap ? x : y, &earlier = swap ? y : x;
    bool later_writes = swap ? c.first_writes : c.second_writes,
         earlier_writes = swap ? c.second_writes : c.first_writes;
    finding *f = find("stream-race", later.at, earlier.at);
    if (!f) return;
    bool kept = f->at == later.at; /* find() may exchange the two places */
    const operation &a = kept ? later : earlier, &b = kept ? earlier : later;
    bool a_writes = kept ? later_writes : earlier_writes,
         b_writes = kept ? earlier_writes : later_writes;
    f->what = name_at(c.address);
    f->other_access = b_writes ? "writes" : "reads";
    f->message = format(
        "%s %s %s, which %s (%s) %s on another stream: nothing orders the two",
        a.name.c_str(), a_writes ? "writes" : "reads", element_at(c.address, 0).c_str(),
        b.name.c_str(), text_of(b.at).c_str(), b_writes ? "writes" : "reads");
    f->fix = "record an event after the first (cudaEventRecord) and let the other stream "
             "wait for it (cudaStreamWaitEvent), or synchronize in between; a stream "
             "created with cudaStreamNonBlocking does not wait for the default stream";
    publish(f);
}

static bool has_unordered(const operation &o)
{
    for (const operation_ptr &other : queued)
        if (other->stream != o.stream && unordered(o, *other)) return true;
    for (const operation_ptr &other : finished)
        if (other->stream != o.stream && unordered(o, *other)) return true;
    return false;
}

struct host_touch {
    range where;
    bool write;
    const void *pc;
    unsigned long long enqueued; /* operations before it */
};
static auto &touches = *new std::vector<host_touch>;
static auto &touch_of = *new std::unordered_map<const void *, size_t>; /* by pc */
constexpr size_t touches_limit = 1 << 16;

static void report_host(const operation &o, const conflict &c, const void *pc)
{
    finding *f = find("stream-race", place_of(pc), o.at);
    if (!f) return;
    const char *host_does = c.first_writes ? "writes" : "reads";
    bool kept = f->at == place_of(pc);
    f->what = name_at(c.address);
    f->other_access = kept == c.second_writes ? "writes" : "reads";
    std::string element = element_at(c.address, 0);
    if (kept)
        f->message = format(
            "host code %s %s, which %s (%s) %s: the host has not waited for it",
            host_does, element.c_str(), o.name.c_str(), text_of(o.at).c_str(),
            c.second_writes ? "writes" : "reads");
    else
        f->message = format(
            "%s %s %s, which host code %s at %s without waiting for it", o.name.c_str(),
            c.second_writes ? "writes" : "reads", element.c_str(), host_does,
            text_of(place_of(pc)).c_str());
    f->fix = "call cudaStreamSynchronize on its stream first, or cudaEventSynchronize on "
             "an event recorded after it";
    publish(f);
}

static footprint touched_by(const host_touch &t)
{
    footprint f;
    f.of[t.write ? WRITES : READS].push_back(t.where);
    return f;
}

void host_touches(range where, bool write, const void *pc)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    host_touch t = {where, write, pc, enqueued};
    for (const operation_ptr &o : finished) {
        conflict c;
        if (!comes_before(*o, host) && find_conflict(touched_by(t), o->touched, &c))
            report_host(*o, c, pc);
    }
    if (queued.empty()) return;
    auto known = touch_of.find(pc);
    if (known != touch_of.end()) { /* usually a loop over an array */
        host_touch &before = touches[known->second];
        if (before.enqueued == enqueued && before.write == write) {
            if (where.start >= before.where.start && where.end <= before.where.end)
                return;
            if (where.start == before.where.end) {
                before.where.end = where.end;
                return;
            }
        }
    }
    if (touches.size() == touches_limit) return;
    touch_of[pc] = touches.size();
    touches.push_back(t);
}

static void compare(const operation_ptr &o)
{
    conflict c;
    if (o->touched.empty()) return;
    for (const operation_ptr &other : finished)
        if (other->stream != o->stream && unordered(*other, *o) &&
            find_conflict(other->touched, o->touched, &c))
            report(*other, *o, c);
    for (const host_touch &t : touches)
        if (t.enqueued > o->index && find_conflict(touched_by(t), o->touched, &c))
            report_host(*o, c, t.pc);
    if (finished.size() == finished_limit) finished.erase(finished.begin());
    finished.push_back(o);
}

static void settle()
{
    if (queued.empty()) {
        auto known = [](const operation_ptr &o) { return comes_before(*o, host); };
        finished.erase(
            std::remove_if(finished.begin(), finished.end(), known), finished.end());
        touches.clear();
        touch_of.clear();
    }
    unfinished = !queued.empty() || !finished.empty();
}

/* host_waits: nothing that is enqueued later can be unordered with it. */
static void run(operation_ptr o, bool host_waits)
{
    if (sticky_error()) return; /* as on a GPU */
    recording = overlaps_used || (host_waits ? has_unordered(*o) : counts.size() > 1);
    running = o.get();
    o->work();
    o->work = nullptr;
    running = nullptr;
    recording = false;
    add_footprint(o->touched, take_record());
    compare(o);
}

/* Runs what comes before `p`, in the order of the calls. */
static void run_until(progress p, bool host_waits)
{
    if (running || wbcpu_self) return; /* a host function must not call the API */
    open_device_memory();
    for (size_t i = 0; i < queued.size();) {
        operation_ptr o = queued[i];
        if (!comes_before(*o, p)) {
            i++;
            continue;
        }
        queued.erase(queued.begin() + (long)i);
        run(o, host_waits);
    }
    close_device_memory();
    if (host_waits) join(host, p);
    settle();
}

bool queues()
{
    return !running && !wbcpu_self;
}

/* The launch that is enqueued next: its line is that of <<<. */
static call next_launch;

bool accept_launch(wbcpu_launch *l)
{
    take_overlap(l);
    if (capture_of(l->stream) || !queues()) return true; /* nothing is enqueued now */
    next_launch = {place_at(l->file, l->line), format("kernel %s", l->name)};
    return true;
}

static void enqueue_work(cudaStream_t stream, std::function<void()> work)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    call c = next_launch.at ? next_launch : running_call();
    next_launch.at = nullptr;
    operation_ptr o = std::make_shared<operation>();
    progress after = before_next(stream);
    stream_state &s = state_of(stream);
    o->stream = s.id;
    o->number = ++counts[s.id];
    o->waited_for = s.id < host.size() ? host[s.id] : 0;
    o->index = enqueued++;
    if (after.size() <= s.id) after.resize(s.id + 1);
    after[s.id] = o->number;
    o->after = s.after = after;
    o->work = work;
    o->name = c.name;
    o->at = c.at;
    queued.push_back(o);
    last = o;
    s.asked = 0;
    unfinished = true;
    if (queued.size() > queue_limit) run_until(queued.front()->after, false);
}
void enqueue(
    cudaStream_t stream, void (*run_it)(void *), void (*destroy)(void *), void *work)
{
    std::shared_ptr<void> owned(work, destroy);
    enqueue_work(stream, [run_it, owned] { run_it(owned.get()); });
}

/* --- waiting ------------------------------------------------------------------------ */

/* The newest first, with what comes before it: other streams run after what they should
 * have waited for only if the program says so. */
static void run_all(bool host_waits)
{
    while (!queued.empty() && !running && !wbcpu_self)
        run_until(queued.back()->after, host_waits);
    settle();
}
void run_everything()
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    run_all(false);
}
void device_synchronized()
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    run_all(true);
    for (auto &s : streams)
        join(host, s.second.after);
    settle();
}
void stream_synchronized(cudaStream_t stream)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    run_until(is_legacy(stream) ? before_next(stream) : state_of(stream).after, true);
}
void wait_for_last()
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (last) run_until(last->after, true);
}

static bool any_queued(const progress &p)
{
    for (const operation_ptr &o : queued)
        if (comes_before(*o, p)) return true;
    return false;
}
/* Work that is asked for in a loop must finish some time. */
static bool busy(const progress &p, int *asked)
{
    if (any_queued(p) && (*asked)++ < queries_busy) return true;
    *asked = 0;
    run_until(p, true);
    return false;
}
bool stream_busy(cudaStream_t stream)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    stream_state &s = state_of(stream);
    return busy(is_legacy(stream) ? before_next(stream) : s.after, &s.asked);
}
void stream_destroyed(cudaStream_t stream)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    stream_state gone = state_of(stream);
    streams.erase(stream);
    if (gone.blocking) join(state_of(nullptr).after, gone.after);
}

/* --- events ------------------------------------------------------------------------- */

void event_recorded(cudaEvent_t event, cudaStream_t stream)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    unsigned long long recording_index = enqueued;
    enqueue_work(stream, [event, recording_index] {
        auto e = events.find(event); /* destroyed or recorded again? */
        if (e != events.end() && e->second.recording == recording_index)
            event->seconds = seconds_now();
    });
    events[event] = {last->after, recording_index, 0};
}
void event_synchronized(cudaEvent_t event)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    auto e = events.find(event);
    if (e != events.end()) run_until(e->second.after, true);
}
bool event_pending(cudaEvent_t event)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    auto e = events.find(event);
    return e != events.end() && any_queued(e->second.after);
}
bool event_busy(cudaEvent_t event)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    auto e = events.find(event);
    return e != events.end() && busy(e->second.after, &e->second.asked);
}
void event_destroyed(cudaEvent_t event)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    events.erase(event);
}
void stream_waits(cudaStream_t stream, cudaEvent_t event)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    auto e = events.find(event);
    if (e != events.end()) join(state_of(stream).after, e->second.after);
}

void end_of_program(bool failed)
{
    if (running || wbcpu_self) return;
    run_everything();
    unchecked_errors();
    if (!failed && !sticky_error()) leaks("the program ends");
}
}  // namespace wbcpu::check
