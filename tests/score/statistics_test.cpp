// Laws of the statistics, and of reading tables.
#include "sim/score/statistics.h"

#include <cmath>

#include "tests/config/files.h"
#include "tests/test.h"

using namespace trainwire;

namespace {

ScoreRow row(double predicted, double measured, const std::string& alike = "") {
  ScoreRow r;
  r.id = "r";
  r.predicted_s = predicted, r.measured_s = measured;
  r.alike = alike;
  r.step = StepCase{"", measured, 0};
  return r;
}

std::vector<const ScoreRow*> pointers(const std::vector<ScoreRow>& rows) {
  std::vector<const ScoreRow*> result;
  for (const ScoreRow& r : rows) result.push_back(&r);
  return result;
}

std::string refusal_of(const std::string& text) {
  const TestFolder folder("score");
  try {
    read_table(folder.write("t.csv", text));
  } catch (const ConfigError& e) { return e.what(); }
  return "";
}

}  // namespace

TEST_CASE("Kendall's tau is 1 for the same order, -1 for the reverse, and counts discordant pairs") {
  CHECK(kendall_tau({1, 2, 3, 4}, {10, 20, 30, 40}) == Approx(1));
  CHECK(kendall_tau({1, 2, 3, 4}, {4, 3, 2, 1}) == Approx(-1));
  CHECK(kendall_tau({1, 2, 3, 4}, {1, 2, 4, 3}) == Approx((5.0 - 1.0) / 6.0));
  CHECK(std::isnan(kendall_tau({1, 1}, {1, 2})));
}

TEST_CASE("A row without a prediction counts as a miss and changes no error") {
  std::vector<ScoreRow> rows{row(1.1, 1), row(0.8, 1), row(0, 1)};
  rows[2].reason = "because";
  const Statistics s = statistics_of("x", pointers(rows));
  CHECK(s.rows == 3);
  CHECK(s.predicted == 2);
  CHECK(s.mape == Approx(15));
  CHECK(s.bias == Approx(-5));
  CHECK(s.worst == Approx(20));
}

TEST_CASE("A rule of thumb that holds exactly has no error, and its factor is the best one") {
  const std::vector<ScoreRow> exact{row(1, 2), row(1, 4), row(1, 8)};  // flops = measured
  CHECK(baselines(pointers(exact))[0].mape == Approx(0).margin(1e-9));
  std::vector<ScoreRow> spread{row(1, 2), row(1, 4), row(1, 8)};
  for (ScoreRow& r : spread) r.step->flops_per_gpu = 1;
  double least = 1e9;
  for (double factor = 0.5; factor < 10; factor += 0.001)
    least = std::min(least, 100 * (std::abs(factor / 2 - 1) + std::abs(factor / 4 - 1) + std::abs(factor / 8 - 1)) / 3);
  CHECK(baselines(pointers(spread))[0].mape == Approx(least).epsilon(1e-3));
}

TEST_CASE("Intervals of rows come from rows of other sets") {
  ScoreTable table;
  for (int set = 0; set < 6; ++set)
    for (int i = 0; i < 10; ++i) table.rows.push_back(row(1, 0.9 + 0.02 * i, "set " + std::to_string(set)));
  table.rows.push_back(row(1, 100, "alone"));  // far off, and of no use for itself
  add_intervals(table);
  CHECK(table.rows.back().high_s < 1.1);
  const Statistics s = statistics_of("x", pointers(table.rows));
  CHECK(s.covered > 70);
  CHECK(s.covered < 95);
}

TEST_CASE("A table that nobody knows, and one with a broken row, are refused with the line") {
  CHECK_THAT(refusal_of("a,b\n1,2\n"), contains("t.csv:1") && contains("Known: vtrain"));
  CHECK_THAT(refusal_of("a,b\n1,2\n3\n"), contains("t.csv:3") && contains("1 fields, the header 2"));
  CHECK_THAT(refusal_of("a,b\n"), contains("has no rows"));
}
