/* presets.c - named sets of options. */
#include "options.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// tinylm/presets in the current folder, else in the tree where the program was built, or
// where `make install` puts them.
static void preset_folder(char *path, size_t room)
{
    snprintf(path, room, "tinylm/presets");
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (access(path, R_OK) == 0 || n < 0) return;
    self[n] = 0;
    char *build = strstr(self, "/build/");
    char *bin = strstr(self, "/bin/tinylm");
    if (build)
        *build = 0, snprintf(path, room, "%.900s/tinylm/presets", self);
    else if (bin)
        *bin = 0, snprintf(path, room, "%.900s/share/warpbook/presets", self);
}

int options_preset(options *o, const char *name, wb_error *err)
{
    char folder[1024], path[2048], known[600] = "";
    preset_folder(folder, sizeof folder);
    if (strchr(name, '/'))
        snprintf(path, sizeof path, "%s", name);
    else
        snprintf(path, sizeof path, "%s/%s", folder, name);
    char *text = file_read(path, 1 << 20, NULL, err);
    if (text) {
        int rc = options_read(o, text, path, err);
        free(text);
        return rc;
    }
    if (strchr(name, '/')) return -1;
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.' &&
            strlen(known) + strlen(entry->d_name) + 2 < sizeof known)
            strcat(strcat(known, " "), entry->d_name);
    if (dir) closedir(dir);
    return error_set(
        err, "no preset '%.100s': there are%s (or give a path)", name, known);
}
