/* A foreign program in C: it uses only public headers. */

#include <beeline/c.h>

#include <stdio.h>

int main(void) { return puts(beeline_version()) == EOF; }
