#pragma once
// Why a send of this thread found no memory: its result is a status alone, and a text about it
// should name the limit.

#include <string>

#include <beeline/result.h>

namespace beeline::send {

// Empty before the first. For texts alone.
inline thread_local std::string shortage_of_thread;

inline void note_shortage(const Error& error) { shortage_of_thread = error.text; }

}  // namespace beeline::send
