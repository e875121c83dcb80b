// What somebody else's program looks like: public headers only.

#include <beeline/version.h>

#include <iostream>

int main() { std::cout << beeline::kVersion << '\n'; }
