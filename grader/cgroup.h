/* cgroup.h - a limit on the tasks (processes and threads) and the memory of a process and
 * all that it starts, kept by the kernel. Only some accounts may make a cgroup: root, and
 * users to whom systemd delegates one. */
#ifndef CGROUP_H
#define CGROUP_H
#include <stdbool.h>
#include <stddef.h>

struct cgroup {
    char tasks[512], memory[512]; /* its folders, in version 2 the same; "" if none */
    bool version2;
};

/* Makes warpbook-<pid>, and removes those of processes that no longer run. memory: bytes,
 * 0: no limit. false: this account or system makes none. */
bool cgroup_make(struct cgroup *g, size_t tasks, size_t memory);
bool cgroup_enter(const struct cgroup *g); /* the calling process, single-threaded */
bool cgroup_read(const struct cgroup *g, size_t *tasks, size_t *memory);
void cgroup_remove(struct cgroup *g); /* after its processes have ended */

#endif
