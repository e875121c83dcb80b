#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/benchmark.h"
#include "bench/histogram_text.h"

namespace beeline::bench {

// The gnuplot program that draws a plot of those rows as SVG on its standard output. A line has at
// least two places on the x axis; empty if there is none. `name` keeps its parts apart from those
// of other pictures on the page.
[[nodiscard]] std::string plot_script(const Plot& plot, const std::vector<Row>& rows,
                                      const std::string& name);

// The same for durations over their percentiles, from the median's side to the slowest one; empty
// if none of them has two points. `curves`: by label.
[[nodiscard]] std::string curve_script(
    const std::string& title, const std::map<std::string, std::vector<PercentilePoint>>& curves,
    const std::string& name);

[[nodiscard]] bool has_gnuplot();

// Runs gnuplot and returns the picture, in which black is the colour of the text around it.
// Errors: kSystem; what gnuplot complains of while it draws is one.
[[nodiscard]] Result<std::string> draw(const std::string& script);

}  // namespace beeline::bench
