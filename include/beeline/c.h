#pragma once

/*
 * Beeline for programs in C, and for other languages. The library is `libbeeline-c`.
 *
 * Handles are opaque. A function named `..._free`, and beeline_close(), end the life of a handle;
 * null is allowed there. A text is UTF-8 with a length; the length BEELINE_TEXT means that it ends
 * with a zero byte. A text that the library gives always ends with a zero byte, too. Times are
 * nanoseconds from now: 0 does not wait, BEELINE_FOREVER waits without a limit. A signal does not
 * end a wait.
 *
 * A struct that may grow begins with its size, which the caller sets: an `_init` function of these
 * headers does so, and gives each field its default. Null options are the defaults. So a program
 * goes on to work with a newer library that has longer structs of this kind. The others stay.
 *
 * A function that can fail returns a beeline_code. For any other than BEELINE_OK and
 * BEELINE_NOTHING, beeline_error_text() has the words.
 *
 * One thread uses an agent and all that came from it, at a time; beeline_sender is for other
 * threads. The library never calls the program from a thread of its own. A handle that outlives its
 * agent is dead: its functions return BEELINE_CLOSED or nothing, and it must still be freed.
 *
 * After a fork the child may free its copies of all handles, and nothing else.
 */

#include <beeline/c/agent.h>
#include <beeline/c/buffer.h>
#include <beeline/c/hive.h>
#include <beeline/c/loop.h>
#include <beeline/c/message.h>
#include <beeline/c/processes.h>
#include <beeline/c/tasks.h>
#include <beeline/c/types.h>
#if __has_include(<beeline/c/spool.h>)
#include <beeline/c/spool.h> /* not there in a library that was built without it */
#endif
