#pragma once

#include <string>

namespace beeline::os {

// All that can be read of a file, empty if that is nothing. A file of /proc can be opened and not
// be read: its process may end in between.
[[nodiscard]] std::string read_text_file(const std::string& path);

}  // namespace beeline::os
