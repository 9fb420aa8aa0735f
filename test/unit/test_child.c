/* Child processes: their input and output, and how each kind of end is reported. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/support/child.h"
#include "lib/support/clock.h"

static tile_child start_shell(const char *command) {
    tile_child child;
    const char *const words[] = {"sh", "-c", command, NULL};
    cr_assert_eq(tile_child_start(&child, words, true, NULL), 0);
    return child;
}

static tile_child_wait_limit within(double seconds) {
    return (tile_child_wait_limit){.deadline = tile_seconds_now() + seconds};
}

Test(child, answers_what_it_is_told, .timeout = 60) {
    tile_child child = start_shell("while read word; do echo \"<$word>\"; done; exit 3");
    const tile_child_wait_limit wait_limit = within(50);
    char answer[8];
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(tile_child_put(&child, "three\n", 6, &wait_limit), TILE_CHILD_OK);
        cr_assert_eq(tile_child_get(&child, answer, 8, &wait_limit), TILE_CHILD_OK);
        cr_expect_arr_eq(answer, "<three>\n", 8);
    }
    tile_child_finish(&child);
    cr_expect_eq(tile_child_get(&child, answer, 1, &wait_limit), TILE_CHILD_CLOSED);
    cr_assert(tile_child_wait(&child, 50));
    cr_expect(WIFEXITED(child.state) && WEXITSTATUS(child.state) == 3);
    tile_child_end(&child, HUGE_VAL);
    cr_expect(child.socket == -1 && WEXITSTATUS(child.state) == 3);
}

Test(child, more_than_the_socket_holds, .timeout = 60) {
    enum { SIZE = 1 << 22 };
    static char sent[SIZE], got[SIZE];
    tile_child child = start_shell("head -c 4194304 | tail -c 4194304");
    const tile_child_wait_limit wait_limit = within(50);
    for (unsigned i = 0; i < SIZE; i++) sent[i] = (char)(i * 7 + i / 256);
    cr_assert_eq(tile_child_put(&child, sent, SIZE, &wait_limit), TILE_CHILD_OK);
    cr_assert_eq(tile_child_get(&child, got, SIZE, &wait_limit), TILE_CHILD_OK);
    cr_expect_arr_eq(got, sent, SIZE);
    tile_child_end(&child, HUGE_VAL);
}

Test(child, one_that_hangs, .timeout = 60) {
    tile_child child = start_shell("exec sleep 100");
    const tile_child_wait_limit wait_limit = within(0.1);
    char answer;
    cr_expect_eq(tile_child_get(&child, &answer, 1, &wait_limit), TILE_CHILD_TIMED_OUT);
    cr_expect_not(tile_child_wait(&child, 0));
    tile_child_end(&child, HUGE_VAL);
    cr_expect(WIFSIGNALED(child.state) && WTERMSIG(child.state) == SIGKILL);
    cr_expect(child.process == 0);
}

Test(child, one_that_talks_for_ever, .timeout = 60) {
    tile_child child = start_shell("while :; do echo x; done");
    const tile_child_wait_limit wait_limit = within(0.3);
    tile_child_result result;
    char answer[4096];
    size_t got, all = 0;
    while (!(result = tile_child_get_some(&child, answer, sizeof answer, &got, &wait_limit)))
        all += got;
    cr_expect(result == TILE_CHILD_TIMED_OUT && all > 0);
    tile_child_end(&child, HUGE_VAL);
}

static bool goes_on_twice(void *user) {
    return ++*(unsigned *)user < 3;
}

Test(child, patience_that_is_ended, .timeout = 60) {
    tile_child child = start_shell("exec sleep 100");
    unsigned asked = 0;
    const tile_child_wait_limit wait_limit = {tile_seconds_now() + 50, goes_on_twice, &asked};
    char answer;
    size_t got;
    cr_expect_eq(tile_child_get_some(&child, &answer, 1, &got, &wait_limit), TILE_CHILD_ABANDONED);
    cr_expect_eq(asked, 3);
    tile_child_end(&child, HUGE_VAL);
}

Test(child, one_that_is_killed, .timeout = 60) {
    tile_child child = start_shell("printf x; kill -SEGV $$");
    const tile_child_wait_limit wait_limit = within(50);
    char answer[2];
    size_t got;
    cr_expect_eq(tile_child_get_some(&child, answer, 2, &got, &wait_limit), TILE_CHILD_OK);
    cr_expect(got == 1 && *answer == 'x');
    cr_expect_eq(tile_child_get_some(&child, answer, 2, &got, &wait_limit), TILE_CHILD_CLOSED);
    cr_assert(tile_child_wait(&child, 50));
    cr_expect(WIFSIGNALED(child.state) && WTERMSIG(child.state) == SIGSEGV);
    /* Writing to a child that has ended raises no signal here. */
    for (unsigned i = 0; i < 2; i++)
        cr_expect_eq(tile_child_put(&child, "x", 1, &wait_limit), TILE_CHILD_CLOSED);
    tile_child_end(&child, HUGE_VAL);
}

Test(child, programs_that_there_are_not) {
    const char *const words[] = {"no-such-program-of-tile", NULL};
    const char *const here[] = {"sh", NULL}; /* of this folder */
    tile_child child;
    cr_expect_eq(tile_child_start(&child, words, true, NULL), ENOENT);
    cr_expect(child.process == 0 && child.socket == -1);
    cr_expect_eq(tile_child_start(&child, here, false, NULL), ENOENT);
}

static void say_and_return(int to, void *user) {
    const char *text = user;
    cr_assert_eq(write(to, text, strlen(text)), (ssize_t)strlen(text));
}

Test(child, a_copy_of_this_process, .timeout = 60) {
    tile_child child;
    char text[] = "here", answer[4];
    const tile_child_wait_limit wait_limit = within(50);
    cr_assert_eq(tile_child_fork(&child, say_and_return, text), 0);
    cr_assert_eq(tile_child_get(&child, answer, 4, &wait_limit), TILE_CHILD_OK);
    cr_expect_arr_eq(answer, "here", 4);
    tile_child_wait(&child, HUGE_VAL);
    cr_expect(WIFEXITED(child.state) && WEXITSTATUS(child.state) == 1);
    tile_child_end(&child, HUGE_VAL);
}

/* A child inherits no files of another one: the end of one is detected while the other runs. */
Test(child, two_at_once, .timeout = 60) {
    tile_child first = start_shell("cat"), second = start_shell("exec sleep 100");
    const tile_child_wait_limit wait_limit = within(50);
    char answer;
    tile_child_finish(&first);
    cr_expect_eq(tile_child_get(&first, &answer, 1, &wait_limit), TILE_CHILD_CLOSED);
    tile_child_end(&first, HUGE_VAL);
    tile_child_end(&second, HUGE_VAL);
}
