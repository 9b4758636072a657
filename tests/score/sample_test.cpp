// A fixed sample of published steps, predicted with what ships: its error may fall, not grow.
#include <filesystem>

#include "sim/score/statistics.h"
#include "tests/test.h"

using namespace trainwire;

namespace {

ScoreTable sample(const std::string& source) {
  ScoreTable table = read_table(std::filesystem::path(TRAINWIRE_SOURCE_DIR) / "tests" / "validation" / "steps.csv");
  std::erase_if(table.rows, [&](const ScoreRow& row) { return row.groups.at(0).find(source) == std::string::npos; });
  return table;
}

}  // namespace

TEST_CASE("Steps of vTrain's table are predicted as well as when the model was fitted") {
  std::vector<ScoreTable> tables{sample("vTrain")};
  REQUIRE(tables[0].rows.size() == 24);
  predict_steps(tables, 2);
  for (const ScoreRow& row : tables[0].rows) {
    CAPTURE(row.id, row.reason, row.predicted_s, row.measured_s);
    CHECK(row.predicted());
  }
  const TableScore score = score_of(tables[0]);
  CAPTURE(score.all.mape, score.all.tau, score.all.bias);
  CHECK(score.all.mape < 12);
  CHECK(score.all.tau > 0.85);
  CHECK(score.all.mape < score.baselines.at(1).mape / 2);
}

TEST_CASE("Every row of our table has a prediction or a reason, and says where it was published") {
  const ScoreTable table = sample("");
  CHECK(table.rows.size() > 40);
  for (const ScoreRow& row : table.rows) {
    CAPTURE(row.id, row.reason);
    CHECK((row.step.has_value() || !row.reason.empty()));
    CHECK(row.measured_s > 0);
  }
}
