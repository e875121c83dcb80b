#pragma once
/* The checks of the program that uses every function of the C interface. */

#include <beeline/c.h>

#include <stdio.h>
#include <stdlib.h>

#define SECOND INT64_C(1000000000)
#define PATIENCE (60 * SECOND)

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "line %d: %s (last error: %s)\n", __LINE__, #condition, \
              beeline_error_text());                                          \
      exit(1);                                                                \
    }                                                                         \
  } while (0)
#define OK(call) CHECK((call) == BEELINE_OK)

static inline int same(const void* bytes, size_t length, const char* text) {
  return length == strlen(text) && memcmp(bytes, text, length) == 0;
}

/* Uses every function of a durable buffer. */
void use_buffer(beeline_agent* boss);
/* Uses every function of a task folder. */
void use_spool(void);
/* Uses every function about processes. The child that is spawned calls be_child(). */
void use_processes(beeline_agent* boss);
int be_child(void);
