#include "sim/score/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace trainwire {
namespace {

struct Pairs {
  double agreeing = 0;   // concordant less discordant
  double x = 0, y = 0;   // pairs that differ in x, in y
};

Pairs pairs_of(const std::vector<double>& x, const std::vector<double>& y) {
  Pairs p;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const int dx = (x[i] > x[j]) - (x[i] < x[j]), dy = (y[i] > y[j]) - (y[i] < y[j]);
      p.agreeing += dx * dy;
      p.x += dx != 0;
      p.y += dy != 0;
    }
  }
  return p;
}

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// Rankings of more rows than this say nothing that a sample would not, and cost the square.
constexpr std::size_t most_ranked = 2000;

void rank(Statistics& s, const std::vector<const ScoreRow*>& rows) {
  std::vector<double> x, y;
  for (const ScoreRow* row : rows) {
    if (!row->predicted() || x.size() == most_ranked) continue;
    x.push_back(row->predicted_s);
    y.push_back(row->measured_s);
  }
  const double tau = kendall_tau(x, y);
  s.ranked = !std::isnan(tau);
  s.tau = s.ranked ? tau : 0;
}

// The factor that gives the least MAPE is one of measured / estimated: the weighted median (weights: the ratio).
Baseline fitted(const std::string& name, const std::vector<std::pair<double, double>>& estimated_measured) {
  std::vector<std::pair<double, double>> ratio_weight;
  double total = 0;
  for (const auto& [estimated, measured] : estimated_measured) {
    ratio_weight.emplace_back(measured / estimated, estimated / measured);
    total += estimated / measured;
  }
  std::sort(ratio_weight.begin(), ratio_weight.end());
  double factor = 0, passed = 0;
  for (const auto& [ratio, weight] : ratio_weight) {
    factor = ratio;
    passed += weight;
    if (passed >= total / 2) break;
  }
  double sum = 0;
  for (const auto& [estimated, measured] : estimated_measured) sum += std::abs(factor * estimated / measured - 1);
  return {name, 100 * sum / static_cast<double>(estimated_measured.size())};
}

}  // namespace

double kendall_tau(const std::vector<double>& x, const std::vector<double>& y) {
  const Pairs p = pairs_of(x, y);
  if (p.x <= 0 || p.y <= 0) return std::numeric_limits<double>::quiet_NaN();
  return p.agreeing / std::sqrt(p.x * p.y);
}

Statistics statistics_of(const std::string& name, const std::vector<const ScoreRow*>& rows) {
  Statistics s;
  s.name = name;
  s.rows = rows.size();
  std::vector<double> errors;
  double inside = 0;
  for (const ScoreRow* row : rows) {
    if (!row->predicted()) continue;
    errors.push_back(100 * std::abs(row->error()));
    s.bias += 100 * row->error();
    if (row->high_s <= 0) continue;
    ++s.with_interval;
    inside += row->measured_s >= row->low_s && row->measured_s <= row->high_s;
  }
  s.predicted = errors.size();
  if (s.with_interval > 0) s.covered = 100 * inside / static_cast<double>(s.with_interval);
  if (errors.empty()) return s;
  std::sort(errors.begin(), errors.end());
  for (const double e : errors) s.mape += e;
  s.mape /= static_cast<double>(errors.size());
  s.bias /= static_cast<double>(errors.size());
  s.median = quantile(errors, 0.5), s.p90 = quantile(errors, 0.9), s.worst = errors.back();
  rank(s, rows);
  return s;
}

std::vector<Baseline> baselines(const std::vector<const ScoreRow*>& rows) {
  std::vector<std::pair<double, double>> flat, bubbled;
  for (const ScoreRow* row : rows) {
    if (!row->step || row->step->flops_per_gpu <= 0) continue;
    flat.emplace_back(row->step->flops_per_gpu, row->measured_s);
    bubbled.emplace_back(row->step->flops_per_gpu / (1 - row->step->bubble), row->measured_s);
  }
  if (flat.empty()) return {};
  return {fitted("constant utilisation", flat), fitted("utilisation and 1F1B bubble", bubbled)};
}

TableScore score_of(const ScoreTable& table) {
  TableScore score;
  std::vector<const ScoreRow*> all;
  std::vector<std::string> names;
  std::map<std::string, std::vector<const ScoreRow*>> groups, alike;
  for (const ScoreRow& row : table.rows) {
    all.push_back(&row);
    for (const std::string& name : row.groups) {
      if (groups[name].empty()) names.push_back(name);
      groups[name].push_back(&row);
    }
    if (!row.alike.empty()) alike[row.alike].push_back(&row);
  }
  score.all = statistics_of("all", all);
  for (const std::string& name : names) score.groups.push_back(statistics_of(name, groups[name]));
  double sum = 0, pairs = 0;
  for (const auto& [name, rows] : alike) {
    const Statistics s = statistics_of(name, rows);
    const double count = static_cast<double>(s.predicted) * static_cast<double>(s.predicted - 1);
    if (s.ranked) sum += count * s.tau, pairs += count;
  }
  score.tau_alike = pairs > 0 ? sum / pairs : std::numeric_limits<double>::quiet_NaN();
  score.baselines = baselines(all);
  return score;
}

}  // namespace trainwire
