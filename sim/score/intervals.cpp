// 80 % intervals from residuals: what the measured times of rows of other sets were, over their predictions.
#include <algorithm>
#include <map>

#include "sim/score/statistics.h"

namespace trainwire {
namespace {

constexpr std::size_t least_rows = 20;  // fewer do not say how far off predictions are
constexpr double outside = 0.1;         // on either side

struct Ratio {
  double value;  // measured / predicted
  std::string set;
};

std::string set_of(const ScoreRow& row) { return row.alike.empty() ? row.id : row.alike; }

// The q-quantile of the values that are not of this set.
double quantile_without(const std::vector<Ratio>& sorted, const std::string& set, double q) {
  std::vector<double> values;
  for (const Ratio& r : sorted)
    if (r.set != set) values.push_back(r.value);
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(q * last + 0.5)];
}

}  // namespace

void add_intervals(ScoreTable& table) {
  // The coarsest group is what a reader would look a prediction up in: one source, one class of kernels.
  std::map<std::string, std::vector<ScoreRow*>> groups;
  for (ScoreRow& row : table.rows)
    if (row.predicted() && row.step) groups[row.groups.empty() ? "" : row.groups.front()].push_back(&row);
  for (auto& [name, rows] : groups) {
    std::vector<Ratio> ratios;
    for (const ScoreRow* row : rows) ratios.push_back({row->measured_s / row->predicted_s, set_of(*row)});
    std::sort(ratios.begin(), ratios.end(), [](const Ratio& a, const Ratio& b) { return a.value < b.value; });
    for (ScoreRow* row : rows) {
      const std::string set = set_of(*row);
      const auto others = std::count_if(ratios.begin(), ratios.end(), [&](const Ratio& r) { return r.set != set; });
      if (static_cast<std::size_t>(others) < least_rows) continue;
      row->low_s = row->predicted_s * quantile_without(ratios, set, outside);
      row->high_s = row->predicted_s * quantile_without(ratios, set, 1 - outside);
    }
  }
}

}  // namespace trainwire
