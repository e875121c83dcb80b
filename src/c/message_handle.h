#pragma once

#include <cstddef>
#include <string>

#include <beeline/c/message.h>
#include <beeline/message.h>

namespace beeline::c {

class MessagePool;

}  // namespace beeline::c

// A message in the hands of the caller. The members are for the functions of this folder.
struct beeline_message {
  beeline::Message message{};
  beeline_agent* agent = nullptr;  // null: it was closed
  beeline_message* next_free = nullptr;
  std::size_t place = 0;  // in the pool
  bool is_free = false;
  mutable std::string from_name{};
};
