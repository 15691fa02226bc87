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
    TRUNCATE = 1 << 14,
    IOCTL_DEV = 1 << 15,
    OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV,
    READING = READ_FILE | READ_DIR,
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

int restrict_files(
    const char *program, const char *const *readable, int device, char *const envp[])
{
    static const char *const libraries[] = {"/lib",       "/lib64",         "/usr/lib",
                                            "/usr/lib64", "/usr/local/lib", NULL};
    static const char *const system_info[] = {
        "/etc/ld.so.cache",
        "/sys/devices/system/cpu",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/dev/zero",
        "/dev/urandom",
        NULL};
    static const char *const driver[] = {"/proc",
                                         "/sys",
                                         "/usr/local/cuda",
                                         "/usr/local/nvidia",
                                         "/usr/share/nvidia",
                                         "/etc/nvidia",
                                         NULL};
    int version = landlock_version();
    if (version < 1) return 0;
    struct landlock_rules all = landlock_all(version);
    size_t size = version >= 6 ? sizeof all : version >= 4 ? 16 : 8;
    int rules = (int)syscall(LANDLOCK_CREATE, &all, size, 0);
    if (rules < 0) return -1;
    int rc = allow(rules, program, EXECUTE | READ_FILE, all.files);
    for (int i = 0; rc == 0 && libraries[i]; i++) /* EXECUTE: for the dynamic loader */
        rc = allow(rules, libraries[i], EXECUTE | READING, all.files);
    for (int i = 0; rc == 0 && system_info[i]; i++)
        rc = allow(rules, system_info[i], READING, all.files);
    for (int i = 0; rc == 0 && readable && readable[i]; i++)
        rc = allow(rules, readable[i], READING, all.files);
    if (rc == 0) rc = allow(rules, "/dev/null", READ_FILE | WRITE_FILE, all.files);
    for (int i = 0; rc == 0 && device && driver[i]; i++)
        rc = allow(rules, driver[i], READING, all.files);
    if (rc == 0 && device) rc = allow_device_nodes(rules, all.files);
    if (rc == 0 && device) /* the driver names its threads */
        rc = allow(rules, "/proc/self/task", READING | WRITE_FILE | TRUNCATE, all.files);
    if (rc == 0 && device) rc = allow_library_path(rules, envp, all.files);
    if (rc == 0) rc = (int)syscall(LANDLOCK_RESTRICT, rules, 0);
    close(rules);
    return rc;
}
