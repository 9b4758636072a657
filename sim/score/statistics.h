// What a set of predictions amounts to.
#pragma once
#include <string>
#include <vector>

#include "sim/score/score.h"

namespace trainwire {

struct Statistics {
  std::string name;
  std::size_t rows = 0, predicted = 0;
  // |predicted / measured - 1| in percent over the predicted rows; bias: with its sign
  double mape = 0, median = 0, p90 = 0, worst = 0, bias = 0;
  double tau = 0;         // Kendall's tau-b of predicted and measured
  bool ranked = false;    // there are pairs to rank
  double covered = 0;     // percent of the rows with an interval that lie in it
  std::size_t with_interval = 0;
};

Statistics statistics_of(const std::string& name, const std::vector<const ScoreRow*>&);

// Kendall 1945, tau-b. NaN without pairs that differ in both.
double kendall_tau(const std::vector<double>& x, const std::vector<double>& y);

// Gives every predicted step its 80 % interval: prediction times the 10 % and 90 % quantiles of measured / predicted
// over the rows of the same group that belong to another set of alike rows. None where fewer than 20 are left.
void add_intervals(ScoreTable&);

struct Baseline {
  std::string name;
  double mape = 0;
};
// Two rules of thumb, each with one factor fitted to these very rows for the least MAPE: a constant utilisation, and
// that with the bubble of 1F1B. Empty where no row is a step.
std::vector<Baseline> baselines(const std::vector<const ScoreRow*>&);

struct TableScore {
  Statistics all;
  double tau_alike = 0;   // tau among rows that are alike, mean over their sets weighted by pairs; NaN: none
  std::vector<Statistics> groups;
  std::vector<Baseline> baselines;
};
TableScore score_of(const ScoreTable&);

}  // namespace trainwire
