// Predicted against measured.
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/config/problems.h"
#include "sim/result/compare.h"
#include "sim/result/report.h"
#include "tests/result/toy.h"
#include "tests/test.h"

using namespace trainwire;
namespace fs = std::filesystem;

namespace {

// Writes a run of a two-stage pipeline whose forwards, backwards and messages take the given times.
void write_run(const fs::path& folder, double forward, double backward, double message, const std::string& name = "toy",
               int micro_batches = 3) {
  const Plan plan = toy::pipeline(2, micro_batches, toy::gpipe);
  const Timeline timeline = toy::schedule(plan, [&](Rank, const Op& op) {
    return is_communication(op.kind) ? message : op.role == Role::forward ? forward : backward;
  });
  Report report;
  report.scenario = name;
  report.kind = "simulated";
  report.step_time_s = timeline.step_time_s;
  report.breakdown.compute_s = micro_batches * (forward + backward);
  write_results(folder, {}, plan, timeline, report);
}

const ComparedPart& part(const std::vector<ComparedPart>& parts, const std::string& name) {
  for (const auto& p : parts)
    if (p.name == name) return p;
  throw std::runtime_error("no part " + name);
}

}  // namespace

TEST_CASE("A run compared with itself has no error anywhere") {
  const toy::TemporaryFolder a("same");
  write_run(a.path, 1, 2, 0.5);
  const Comparison c = compare(a.path, a.path / "report.json");
  CHECK(c.predicted_step_s == c.measured_step_s);
  CHECK(c.p90_error == 0);
  CHECK(c.only_predicted + c.only_measured == 0);
  for (const auto& op : c.operations) CHECK(op.predicted_s == op.measured_s);
}

TEST_CASE("Differences are summed by phase, axis and kind a rank, and the worst comes first") {
  const toy::TemporaryFolder a("predicted"), b("measured");
  const int micro_batches = 3;
  write_run(a.path, 1, 2, 0.5);
  write_run(b.path, 1, 4, 0.25);
  const Comparison c = compare(a.path, b.path);
  CHECK(part(c.phases, "forward").predicted_s == Approx(micro_batches * 1.0));
  CHECK(part(c.phases, "backward").predicted_s == Approx(micro_batches * 2.0));
  CHECK(part(c.phases, "backward").measured_s == Approx(micro_batches * 4.0));
  CHECK(c.phases.front().name == "backward");
  // A stage sends or receives one activation and one gradient a micro-batch.
  CHECK(part(c.axes, "pipeline").predicted_s == Approx(2 * micro_batches * 0.5));
  CHECK(part(c.axes, "pipeline").measured_s == Approx(2 * micro_batches * 0.25));
  CHECK(part(c.kinds, "linear backward").operations == 2 * micro_batches);
  CHECK(c.operations.front().phase == "backward");
  CHECK(c.operations.size() == static_cast<std::size_t>(2 * micro_batches * (2 + 2)));
  CHECK(error_of(c.predicted_step_s, c.measured_step_s) == Approx(c.predicted_step_s / c.measured_step_s - 1));
}

TEST_CASE("A comparison is written as JSON and CSV and told on one screen") {
  const toy::TemporaryFolder a("predicted"), b("measured"), out("comparison");
  write_run(a.path, 1, 2, 0.5);
  write_run(b.path, 1, 4, 0.25);
  const Comparison c = compare(a.path, b.path);
  write_comparison(out.path, c);
  std::ifstream json_file(out.path / "comparison.json"), csv(out.path / "comparison.csv");
  const auto json = nlohmann::json::parse(json_file);
  CHECK(json.at("schema") == "trainwire.comparison/1");
  CHECK(json.at("step_time").at("measured_s").get<double>() == Approx(c.measured_step_s));
  std::size_t lines = 0;
  for (std::string line; std::getline(csv, line);) ++lines;
  CHECK(lines == c.operations.size() + 1);
  const std::string text = to_text(c);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 40);
  CHECK(text.find("step time") != std::string::npos);
}

TEST_CASE("Folders that do not belong together are ConfigErrors that say why") {
  const toy::TemporaryFolder a("one"), b("other"), none("none");
  write_run(a.path, 1, 2, 0.5);
  write_run(b.path, 1, 2, 0.5, "another scenario");
  CHECK_THROWS_WITH(compare(a.path, b.path), contains("the scenarios differ"));
  write_run(b.path, 1, 2, 0.5, "toy", 5);
  CHECK_THROWS_WITH(compare(a.path, b.path), contains("in the other"));
  CHECK_THROWS_AS(compare(a.path, none.path), ConfigError);
  CHECK_THROWS_WITH(compare(a.path, none.path), contains("does not exist"));
  std::ofstream(b.path / "timeline.csv") << "op_id,rank,stream,phase,axis,kind,name,start_s,end_s\n";
  CHECK_THROWS_WITH(compare(a.path, b.path), contains("no operation in common"));
}

TEST_CASE("Broken result files are ConfigErrors with file and line") {
  const toy::TemporaryFolder a("good"), b("broken");
  write_run(a.path, 1, 2, 0.5);
  write_run(b.path, 1, 2, 0.5);
  std::ofstream(b.path / "timeline.csv") << "op_id,rank,stream,phase,axis,kind,name,start_s,end_s\nr0:0,0,x\n";
  CHECK_THROWS_WITH(compare(a.path, b.path), contains("timeline.csv:2") && contains("9 fields"));
  std::ofstream(b.path / "timeline.csv")
      << "op_id,rank,stream,phase,axis,kind,name,start_s,end_s\nr0:0,0,compute,forward,,linear,x,zero,1\n";
  CHECK_THROWS_WITH(compare(a.path, b.path), contains("timeline.csv:2") && contains("zero"));
  std::ofstream(b.path / "report.json") << "{\"schema\": \"trainwire.report/1\", ";
  CHECK_THROWS_WITH(compare(a.path, b.path), contains("report.json"));
  std::ofstream(b.path / "report.json") << "{\"schema\": \"something else\"}";
  CHECK_THROWS_WITH(compare(a.path, b.path), contains("schema"));
}
