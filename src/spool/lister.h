#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/spool.h>

#include "src/spool/folder_files.h"

namespace beeline::spool {

// Reads a folder for people and tools. Changes nothing.
class Lister {
 public:
  Lister(const FolderFiles& files, ClaimOrder order) : files_(files), order_(order) {}
  [[nodiscard]] Outcome<std::vector<Listed>> list(Folder folder) const;
  [[nodiscard]] Outcome<Listed> find(std::string_view id) const;

 private:
  // Nothing: there is no such file.
  [[nodiscard]] Outcome<std::optional<Listed>> read(Folder folder, std::string_view id,
                                                    const std::string& name) const;
  [[nodiscard]] bool is_before(const Listed& left, const Listed& right) const;

  const FolderFiles& files_;
  ClaimOrder order_;
};

}  // namespace beeline::spool
