/* cgroup.c - a limit on tasks and memory, kept by the kernel: version 2 (one hierarchy of
 * folders), or version 1 (one for each of the two controllers). */
#define _GNU_SOURCE
#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "warpbook-";

static bool put(const char *folder, const char *file, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    return written;
}

static bool put_number(const char *folder, const char *file, size_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", number);
    return put(folder, file, number ? text : "max");
}

/* This process's own cgroup for a version 1 controller, or for version 2 (""), as a path
 * below the hierarchy's root. false: there is no such hierarchy. */
static bool own_cgroup(const char *controller, char path[512])
{
    char line[700];
    bool found = false;
    FILE *f = fopen("/proc/self/cgroup", "re"); /* lines like 8:pids:/some/folder */
    while (f && !found && fgets(line, sizeof line, f)) {
        char *name = strchr(line, ':'), *own = name ? strchr(name + 1, ':') : NULL;
        if (!own) continue;
        *own++ = 0;
        own[strcspn(own, "\n")] = 0;
        found = strcmp(name + 1, controller) == 0;
        if (found) snprintf(path, 512, "%.511s", own);
    }
    if (f) fclose(f);
    return found;
}

/* An empty cgroup is left if a grader was killed. One with processes stays. */
static void remove_old(const char *parent)
{
    char path[600];
    DIR *folder = opendir(parent);
    for (struct dirent *e; folder && (e = readdir(folder));) {
        if (strncmp(e->d_name, prefix, sizeof prefix - 1) != 0) continue;
        long pid = strtol(e->d_name + sizeof prefix - 1, NULL, 10);
        if (pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH) continue;
        snprintf(path, sizeof path, "%.500s/%.80s", parent, e->d_name);
        rmdir(path);
    }
    if (folder) closedir(folder);
}

struct limits {
    const char *file[2]; /* NULL: one limit only */
    size_t most[2];
};

static bool set(const char *folder, const struct limits *l)
{
    return put_number(folder, l->file[0], l->most[0]) &&
           (!l->file[1] || put_number(folder, l->file[1], l->most[1]));
}

/* Tries our own cgroup, then its parents: not all of them allow a child with limits. */
static bool
make(char folder[512], const char *root, const char *own, const struct limits *l)
{
    char parent[500];
    int n = snprintf(parent, sizeof parent - 40, "%s%s", root, own);
    bool made = false;
    while (!made && n < (int)sizeof parent - 40) {
        char *slash = parent + strlen(parent) - 1;
        if (*slash == '/') *slash = 0;
        remove_old(parent);
        snprintf(folder, 512, "%.460s/%s%d", parent, prefix, (int)getpid());
        if (mkdir(folder, 0755) == 0 || errno == EEXIST) {
            made = set(folder, l);
            if (!made && put(parent, "cgroup.subtree_control", "+pids +memory"))
                made = set(folder, l);
            if (!made) rmdir(folder);
        }
        if (strlen(parent) <= strlen(root)) break;
        *strrchr(parent, '/') = 0;
    }
    if (!made) folder[0] = 0;
    return made;
}

bool cgroup_make(struct cgroup *g, size_t tasks, size_t memory)
{
    char own[512] = "/";
    memset(g, 0, sizeof *g);
    if (own_cgroup("pids", own) || access("/sys/fs/cgroup/pids", F_OK) == 0) {
        struct limits l = {{"pids.max"}, {tasks}};
        if (!make(g->tasks, "/sys/fs/cgroup/pids", own, &l)) return false;
        struct limits m = {
            {"memory.limit_in_bytes"}, {memory ? memory : (size_t)1 << 60}};
        own_cgroup("memory", own);
        if (make(g->memory, "/sys/fs/cgroup/memory", own, &m)) return true;
        cgroup_remove(g);
        return false;
    }
    own_cgroup("", own);
    struct limits l = {{"pids.max", "memory.max"}, {tasks, memory}};
    g->version2 = make(g->tasks, "/sys/fs/cgroup", own, &l);
    memcpy(g->memory, g->tasks, sizeof g->memory);
    return g->version2;
}

bool cgroup_enter(const struct cgroup *g)
{
    return put(g->tasks, "cgroup.procs", "0") &&
           (g->version2 || put(g->memory, "cgroup.procs", "0"));
}

static bool get_number(const char *folder, const char *file, size_t *number)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = folder[0] ? fopen(path, "re") : NULL;
    bool read = f && fscanf(f, "%zu", number) == 1;
    if (f) fclose(f);
    return read;
}

bool cgroup_read(const struct cgroup *g, size_t *tasks, size_t *memory)
{
    const char *file = g->version2 ? "memory.current" : "memory.usage_in_bytes";
    return get_number(g->tasks, "pids.current", tasks) &&
           get_number(g->memory, file, memory);
}

void cgroup_remove(struct cgroup *g)
{
    char *folder[] = {g->tasks, g->memory};
    for (int i = 0; i < 2; i++) {
        /* it is busy for a moment after its last process was reaped */
        for (int n = 0; n < 100 && *folder[i] && rmdir(folder[i]) && errno == EBUSY; n++)
            usleep(1000);
        *folder[i] = 0;
    }
}
