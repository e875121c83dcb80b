// A foreign program: it uses only public headers.

#include <beeline/version.h>

#include <iostream>

int main() { std::cout << beeline::kVersion << '\n'; }
