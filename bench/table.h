#pragma once
// Rows of JSON as people read them. A column names its place in a row, so that bench/report.py can
// make the same table from files.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace beeline::bench {

using Row = nlohmann::ordered_json;

struct Column {
  std::string title;
  std::string value;     // JSON pointer into a row
  int width = 9;         // characters
  double scale = 1.0;    // numbers are shown multiplied by this
  int digits = 0;        // behind the point
  bool is_size = false;  // 65536 is shown as "64 KiB"
  bool is_left = false;  // words begin at one place
};

// To six significant digits, so that nothing above zero becomes zero.
[[nodiscard]] double rounded(double value);

// The text of one cell; "-" for nothing.
[[nodiscard]] std::string cell_text(const Column& column, const Row& row);
[[nodiscard]] std::string head_line(const std::vector<Column>& columns);
[[nodiscard]] std::string row_line(const std::vector<Column>& columns, const Row& row);

// A remark on a row besides its cells: why it has no figure, that a neighbour is better, how well
// it was measured. Mostly empty.
[[nodiscard]] std::string note_of(const Row& row);

}  // namespace beeline::bench
