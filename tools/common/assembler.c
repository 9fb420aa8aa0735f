/* Looks for ptxas. */
#define _POSIX_C_SOURCE 200809L
#include "tools/common/assembler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/tool.h"

static char *try_folder(const char *folder, size_t length, const char *rest) {
    tool_text path = {NULL, 0, 0};
    tool_append(folder, length, &path);
    tool_append(rest, strlen(rest), &path);
    if (length && access(path.data, X_OK) == 0) return path.data;
    free(path.data);
    return NULL;
}

char *tool_find_ptxas(void) {
    char *found = NULL;
    const char *folders = getenv("PATH"), *home = getenv("CUDA_HOME");
    for (const char *at = folders ? folders : ""; *at && !found;) {
        size_t length = strcspn(at, ":");
        found = try_folder(at, length, "/ptxas");
        at += length + (at[length] == ':');
    }
    if (!found && home) found = try_folder(home, strlen(home), "/bin/ptxas");
    return found ? found : try_folder("/usr/local/cuda", strlen("/usr/local/cuda"), "/bin/ptxas");
}
