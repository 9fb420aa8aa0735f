/* Decides where LeakSanitizer checks for leaks: in the process that Criterion starts for each test.
 * Criterion's parent process loses some bytes if several tests run at once, so it is not checked.
 *
 * Tests that make allocations fail may leak; they call leaks_are_expected.
 *
 * Without the sanitizer these functions are not called. BXFI_MAP is in the environment of a test's
 * process (set by BoxFort, which Criterion uses to start it). */
#include "test/unit/leaks.h"

#include <stdlib.h>

static bool expected;

void leaks_are_expected(void) {
    expected = true;
}

int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void) {
    return expected || getenv("BXFI_MAP") == NULL;
}
