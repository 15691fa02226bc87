/* landlock.c - restricts the process to certain files by Landlock.
 *
 * The constants are defined here because the system's headers may be older than its
 * kernel.
 */
#define _GNU_SOURCE
#include "landlock.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LANDLOCK_CREATE = 444, /* system calls, the same number on every CPU */
    LANDLOCK_ADD = 445,
    LANDLOCK_RESTRICT = 446,
    LANDLOCK_VERSION = 1,
    LANDLOCK_BENEATH = 1,
};

enum file_access {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REMOVE_DIR = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_DIR = 1 << 7,
    MAKE_FILE = 1 << 8,
    RENAME = 1 << 13, /* from one folder to another */
    TRUNCATE = 1 << 14,
    IOCTL_DEV = 1 << 15,
    OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV,
    READING = READ_FILE | READ_DIR,
    RUNNING = READING | EXECUTE, /* of a library: for the dynamic loader */
    WRITING = READING | WRITE_FILE | TRUNCATE | MAKE_FILE | MAKE_DIR | REMOVE_FILE |
              REMOVE_DIR | RENAME,
    DEVICE = READING | WRITE_FILE | IOCTL_DEV,
};

struct landlock_rules {
    uint64_t files, net, scoped;
};
struct __attribute__((packed)) landlock_path {
    uint64_t allowed;
    int32_t fd;
};

int landlock_version(void)
{
    return (int)syscall(LANDLOCK_CREATE, NULL, (size_t)0, LANDLOCK_VERSION);
}

/* Forbids everything that this version can forbid; rules then allow some of it. */
static struct landlock_rules landlock_all(int version)
{
    int bits = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
    return (struct landlock_rules){
        .files = (1u << bits) - 1,
        .net = version >= 4 ? 3 : 0,    /* TCP bind and connect */
        .scoped = version >= 6 ? 3 : 0, /* abstract sockets, signals to other processes */
    };
}

/* A path that does not exist needs no rule. */
static int allow(int ruleset, const char *path, uint64_t access, uint64_t known)
{
    struct landlock_path rule = {.fd = open(path, O_PATH | O_CLOEXEC)};
    if (rule.fd < 0) return 0;
    struct stat st;
    if (fstat(rule.fd, &st) != 0) return -1;
    rule.allowed = access & known & (S_ISDIR(st.st_mode) ? ~0ull : OF_A_FILE);
    int rc = (int)syscall(LANDLOCK_ADD, ruleset, LANDLOCK_BENEATH, &rule, 0);
    close(rule.fd);
    return rc;
}

static int allow_device_nodes(int ruleset, uint64_t known)
{
    DIR *dev = opendir("/dev");
    if (!dev) return 0;
    int rc = 0;
    for (struct dirent *e; rc == 0 && (e = readdir(dev));) {
        char path[300];
        snprintf(path, sizeof path, "/dev/%s", e->d_name);
        if (strncmp(e->d_name, "nv", 2) == 0 || strcmp(e->d_name, "dxg") == 0)
            rc = allow(ruleset, path, DEVICE, known);
    }
    closedir(dev);
    return rc;
}

/* The folders of LD_LIBRARY_PATH: a driver may be there. */
static int allow_library_path(int ruleset, char *const envp[], uint64_t known)
{
    static const char name[] = "LD_LIBRARY_PATH=";
    int rc = 0;
    for (; envp && *envp; envp++) {
        if (strncmp(*envp, name, sizeof name - 1) != 0) continue;
        for (const char *at = *envp + sizeof name - 1; rc == 0 && *at;) {
            char folder[4096];
            size_t n = strcspn(at, ":");
            if (n && n < sizeof folder) {
                memcpy(folder, at, n);
                folder[n] = 0;
                if (folder[0] == '/') rc = allow(ruleset, folder, READING, known);
            }
            at += n + (at[n] == ':');
        }
    }
    return rc;
}

/* --- the profiles ------------------------------------------------------------------- */

#define LIBRARIES "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"
/* Folders: what is in them may be read and, where a profile starts programs, started. */
static const char *const lab_folders[] = {LIBRARIES, NULL};
static const char *const compiler_folders[] = {
    LIBRARIES,
    "/bin",
    "/usr/bin",
    "/usr/libexec",
    "/usr/include",
    "/usr/local/bin",
    "/usr/local/cuda",
    "/usr/local/include",
    "/usr/local/lib64",
    "/usr/local/libexec",
    NULL};

static const char *const lab_files[] = {
    "/etc/ld.so.cache",
    "/sys/devices/system/cpu",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/dev/zero",
    "/dev/urandom",
    NULL};
static const char *const driver_files[] = {
    "/proc",       "/sys", "/usr/local/cuda", "/usr/local/nvidia", "/usr/share/nvidia",
    "/etc/nvidia", NULL};
/* cpuinfo: where no instruction describes the CPU, -march=native reads it. No /dev/zero:
 * included as a header, it never ends. */
static const char *const compiler_files[] = {
    "/etc/ld.so.cache", "/proc/cpuinfo", "/dev/urandom", NULL};

const char *const *readable_folders(const struct sandbox *box)
{
    return box->profile == PROFILE_COMPILER ? compiler_folders : lab_folders;
}

static int
allow_all(int ruleset, const char *const *paths, uint64_t access, uint64_t known)
{
    int rc = 0;
    for (; rc == 0 && paths && *paths; paths++)
        rc = allow(ruleset, *paths, access, known);
    return rc;
}

static int allow_driver(int rules, char *const envp[], uint64_t known)
{
    int rc = allow_all(rules, driver_files, READING, known);
    if (rc == 0) rc = allow_device_nodes(rules, known);
    if (rc == 0) /* the driver names its threads */
        rc = allow(rules, "/proc/self/task", READING | WRITE_FILE | TRUNCATE, known);
    return rc ? rc : allow_library_path(rules, envp, known);
}

/* The folder of a compiler's own prefix, /opt/gcc, holds what /opt/gcc/bin/g++ starts. */
static int allow_readable(int rules, const struct sandbox *box, uint64_t known)
{
    int rc = 0;
    for (const char *const *path = box->readable; rc == 0 && path && *path; path++) {
        size_t n = strlen(*path);
        bool holds = box->profile == PROFILE_COMPILER &&
                     strncmp(*path, box->program, n) == 0 && box->program[n] == '/';
        rc = allow(rules, *path, holds ? RUNNING : READING, known);
    }
    return rc;
}

int restrict_files(const struct sandbox *box, char *const envp[])
{
    bool compiler = box->profile == PROFILE_COMPILER;
    int version = landlock_version();
    struct landlock_rules all = landlock_all(version);
    size_t size = version >= 6 ? sizeof all : version >= 4 ? 16 : 8;
    int rules = (int)syscall(LANDLOCK_CREATE, &all, size, 0);
    if (rules < 0) return -1;
    int rc = allow(rules, box->program, EXECUTE | READ_FILE, all.files);
    if (rc == 0) rc = allow_all(rules, readable_folders(box), RUNNING, all.files);
    if (rc == 0)
        rc = allow_all(rules, compiler ? compiler_files : lab_files, READING, all.files);
    if (rc == 0) rc = allow_readable(rules, box, all.files);
    if (rc == 0) rc = allow(rules, "/dev/null", READ_FILE | WRITE_FILE, all.files);
    if (rc == 0 && compiler) rc = allow_all(rules, box->writable, WRITING, all.files);
    if (rc == 0 && box->profile == PROFILE_LAB_GPU)
        rc = allow_driver(rules, envp, all.files);
    if (rc == 0) rc = (int)syscall(LANDLOCK_RESTRICT, rules, 0);
    close(rules);
    return rc;
}
