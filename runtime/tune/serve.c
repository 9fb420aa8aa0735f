/* The worker's side: a loop over the messages of worker.c. A message is its size and then its
 * bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/tune/serve.h"
#include "runtime/tune/session.h"

static bool read_all(int file, void *to, size_t size) {
    char *at = to;
    while (size) {
        ssize_t got = read(file, at, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static bool write_all(int file, const void *from, size_t size) {
    const char *at = from;
    while (size) {
        ssize_t put = write(file, at, size);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        at += put;
        size -= (size_t)put;
    }
    return true;
}

/* Reads a message, which the caller frees; NULL at the end of messages. */
static char *read_message(int file, size_t *size) {
    uint64_t length;
    if (!read_all(file, &length, sizeof length) || length > TUNE_LONGEST_MESSAGE) return NULL;
    char *message = tile_malloc((size_t)length + 1);
    *size = (size_t)length;
    if (read_all(file, message, *size)) return message;
    free(message);
    return NULL;
}

static bool send(int file, const tile_text *text) {
    uint64_t length = text->length;
    return write_all(file, &length, sizeof length) && write_all(file, text->data, text->length);
}

/* Handles the first message: protocol and task. The answer is the reason of a refusal, or "". */
static tune_session *begin(int output, const char *message, size_t size) {
    tile_arena arena = {0};
    tile_text answer = {.arena = &arena};
    tune_start start;
    tune_answer why = {""};
    tune_session *session = NULL;
    if (!tile_record_unpack(&tune_start_record, message, size, &arena, &start) ||
        strcmp(start.protocol, tune_protocol(&arena)) != 0)
        why.refusal = "the worker is of another version of Tile";
    else
        session = tune_session_open(start.task, start.task_size, &arena, &why.refusal);
    tile_record_pack(&tune_answer_record, &why, &answer);
    bool sent = send(output, &answer);
    tile_arena_reset(&arena);
    if (sent) return session;
    tune_session_close(session);
    return NULL;
}

/* False if this worker cannot be used any more. */
static bool serve_trial(tune_session *session, int output, const char *message, size_t size,
                        tune_serve_hook hook, void *user) {
    tile_arena arena = {0};
    tile_text answer = {.arena = &arena};
    tune_trial trial;
    tune_outcome outcome;
    bool ok = tile_record_unpack(&tune_trial_record, message, size, &arena, &trial);
    if (ok && hook) hook(trial.bindings, user);
    if (ok) {
        tune_session_try(session, &trial, &arena, &outcome);
        tile_record_pack(&tune_outcome_record, &outcome, &answer);
        ok = send(output, &answer) && !outcome.broken;
    }
    tile_arena_reset(&arena);
    return ok;
}

int tile_tune_serve_with(int input, int output, tune_serve_hook hook, void *user) {
    size_t size;
    char *task = read_message(input, &size), *message; /* the arrays' data are in the message */
    tune_session *session = task ? begin(output, task, size) : NULL;
    bool keep_going = session != NULL;
    int status = keep_going ? 0 : 1;
    while (keep_going && (message = read_message(input, &size))) {
        keep_going = serve_trial(session, output, message, size, hook, user);
        free(message);
    }
    tune_session_close(session);
    free(task);
    return status;
}

int tile_tune_serve(int input, int output) {
    return tile_tune_serve_with(input, output, NULL, NULL);
}
