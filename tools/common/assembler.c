/* Finds ptxas and other programs of a CUDA toolkit. */
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

bool tool_is_hidden(const char *name) {
    const char *at = getenv("TILE_TEST_HIDE");
    size_t length;
    for (; at && *at; at += length + (at[length] == ',')) {
        length = strcspn(at, ",");
        bool is_it = strlen(name) == length && strncmp(at, name, length) == 0;
        if (is_it || (length == 3 && strncmp(at, "all", 3) == 0)) return true;
    }
    return false;
}

bool tool_refuses_cuda(void) {
    bool hidden = tool_is_hidden("cuda");
    if (hidden) fputs("error: there is no CUDA driver: TILE_TEST_HIDE hides it\n", stderr);
    return hidden;
}

char *tool_find_cuda_program(const char *name) {
    char *found = NULL, in_path[64], in_home[64];
    const char *folders = getenv("PATH"), *home = getenv("CUDA_HOME");
    if (tool_is_hidden(name)) return NULL;
    snprintf(in_path, sizeof in_path, "/%s", name);
    snprintf(in_home, sizeof in_home, "/bin/%s", name);
    for (const char *at = folders ? folders : ""; *at && !found;) {
        size_t length = strcspn(at, ":");
        found = try_folder(at, length, in_path);
        at += length + (at[length] == ':');
    }
    if (!found && home) found = try_folder(home, strlen(home), in_home);
    return found ? found : try_folder("/usr/local/cuda", strlen("/usr/local/cuda"), in_home);
}

char *tool_find_ptxas(void) {
    return tool_find_cuda_program("ptxas");
}

bool tool_need_program(const char *what, const char *names, const char *option) {
    fprintf(stderr,
            "error: %s: there is no %s on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin; "
            "install the CUDA toolkit, or name it with %s=PATH\n",
            what, names, option);
    return false;
}
