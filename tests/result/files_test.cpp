// The files of a run: their names and columns, whole or not at all.
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/config/problems.h"
#include "sim/result/files.h"
#include "sim/result/read.h"
#include "sim/result/report.h"
#include "tests/result/toy.h"
#include "tests/test.h"

using namespace trainwire;
namespace fs = std::filesystem;

namespace {

double one_second(Rank, const Op& op) { return is_communication(op.kind) ? 0.125 : 1; }

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

Report report_of(const Timeline& timeline) {
  Report report;
  report.scenario = "toy";
  report.kind = timeline.kind;
  report.executor = timeline.executor;
  report.step_time_s = timeline.step_time_s;
  report.world_size = static_cast<int>(timeline.timeline_of.size());
  return report;
}

// Data-parallel replicas of one program, simulated as one class of ranks.
Plan replicas(int count, int operations) {
  Plan plan;
  plan.mesh = toy::mesh_of(1, count, 1);
  plan.program_of.assign(static_cast<std::size_t>(count), 0);
  Program program;
  program.layers = {"blocks.0"};
  for (int i = 0; i < operations; ++i) toy::add_op(program, toy::compute(OpKind::linear));
  plan.programs.push_back(program);
  return plan;
}

Timeline folded(const Plan& plan) {
  Timeline timeline;
  timeline.kind = "simulated";
  timeline.executor = "simgrid";
  timeline.ranks = {{0, {}}};
  for (std::size_t i = 0; i < plan.programs[0].ops.size(); ++i)
    timeline.ranks[0].spans.push_back({static_cast<double>(i), static_cast<double>(i) + 1});
  timeline.step_time_s = static_cast<double>(timeline.ranks[0].spans.size());
  timeline.timeline_of.assign(static_cast<std::size_t>(plan.mesh.size()), 0);
  return timeline;
}

}  // namespace

TEST_CASE("What is written is read back: every operation of every rank, with unique op_id and its times") {
  const toy::TemporaryFolder folder("files");
  const Plan plan = toy::pipeline(3, 2, toy::gpipe);
  const Timeline timeline = toy::schedule(plan, one_second);
  write_results(folder.path, {}, plan, timeline, report_of(timeline));
  const ResultFolder back = read_results(folder.path);
  CHECK(back.scenario == "toy");
  CHECK(back.step_time_s == Approx(timeline.step_time_s));
  std::set<std::string> ids;
  std::size_t row = 0;
  for (const auto& rank : timeline.ranks)
    for (std::size_t i = 0; i < rank.spans.size(); ++i, ++row) {
      REQUIRE(row < back.rows.size());
      const Op& op = plan.program(rank.rank).ops[i];
      CHECK(back.rows[row].op_id == "r" + std::to_string(rank.rank) + ":" + std::to_string(i));
      CHECK(back.rows[row].name == op_name(plan.program(rank.rank), op));
      CHECK(back.rows[row].axis == (is_communication(op.kind) ? "pipeline" : ""));
      CHECK(back.rows[row].end_s == Approx(rank.spans[i].end_s));
      ids.insert(back.rows[row].op_id);
    }
  CHECK(row == back.rows.size());
  CHECK(ids.size() == row);
}

TEST_CASE("The trace is JSON with an event an operation, a process a rank and a thread a stream") {
  const toy::TemporaryFolder folder("trace");
  const Plan plan = toy::pipeline(2, 2, toy::gpipe);
  const Timeline timeline = toy::schedule(plan, one_second);
  write_results(folder.path, {}, plan, timeline, report_of(timeline));
  const auto trace = nlohmann::json::parse(text_of(folder.path / "trace.json"));
  std::size_t operations = 0, expected = 0;
  for (const auto& rank : timeline.ranks) expected += rank.spans.size();
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    ++operations;
    const auto id = event.at("args").at("op_id").get<std::string>();
    const auto rank = event.at("pid").get<std::size_t>();
    const auto op = static_cast<std::size_t>(std::stoi(id.substr(id.find(':') + 1)));
    CHECK(event.at("ts").get<double>() == Approx(timeline.ranks[rank].spans[op].start_s * 1e6).margin(1e-3));
    CHECK(event.at("tid") == static_cast<int>(plan.programs[rank].ops[op].stream));
  }
  CHECK(operations == expected);
}

TEST_CASE("A folded timeline is written for every rank while that is at most 200,000 rows, else for representatives") {
  for (const auto& [ranks, operations] : {std::pair{100, 2000}, std::pair{100, 2001}}) {
    const toy::TemporaryFolder folder("folded");
    const Plan plan = replicas(ranks, operations);
    const Timeline timeline = folded(plan);
    write_results(folder.path, {}, plan, timeline, report_of(timeline));
    const bool all = ranks * operations <= 200'000;
    const auto rows = read_results(folder.path).rows;
    CAPTURE(ranks, operations);
    CHECK(rows.size() == static_cast<std::size_t>((all ? ranks : 1) * operations));
    const auto json = nlohmann::json::parse(text_of(folder.path / "report.json"));
    CHECK(json.at("warnings").size() == (all ? 0 : 1));
  }
}

TEST_CASE("A folder that cannot be written is a ConfigError that names it") {
  const toy::TemporaryFolder folder("blocked");
  std::ofstream(folder.path) << "a file where the folder should be";
  const Plan plan = replicas(1, 1);
  const Timeline timeline = folded(plan);
  CHECK_THROWS_AS(write_results(folder.path, {}, plan, timeline, report_of(timeline)), ConfigError);
  CHECK_THROWS_WITH(write_results(folder.path, {}, plan, timeline, report_of(timeline)),
                    contains("cannot be written") && contains(folder.path.string()));
}

TEST_CASE("When one file of several fails, none appears and no temporary file stays") {
  const toy::TemporaryFolder folder("half");
  const std::vector<OutputFile> files{{"good", [](Sink& sink) { sink.print("x"); }},
                                      {"bad", [](Sink&) { throw std::runtime_error("half-way"); }}};
  CHECK_THROWS_WITH(write_files(folder.path, files), "half-way");
  CHECK(fs::is_empty(folder.path));
}

TEST_CASE("Fields with commas and quotes survive, in CSV and in JSON") {
  CHECK(csv_field("plain") == "plain");
  CHECK(csv_field("a,\"b\"") == "\"a,\"\"b\"\"\"");
  for (const std::string text : {"plain", "a \"b\" \\ c", "line\nbreak", "µs"})
    CHECK(nlohmann::json::parse(json_string(text)).get<std::string>() == text);
}

TEST_CASE("report.json has the promised names") {
  Report report;
  report.kind = "executed";
  report.step_time_s = 2;
  report.tokens_per_s = 100;
  report.world_size = 4;
  report.breakdown.exposed_s["data"] = 0.5;
  report.memory.push_back({});
  report.links.push_back({"l", "nic", 1, 2, 0.5, 3});
  report.bound_by.push_back({"wait", 1});
  const auto json = nlohmann::json::parse(to_json(report));
  for (const char* name : {"schema", "scenario", "kind", "executor", "world_size", "step_time_s", "tokens_per_s",
                           "tokens_per_s_per_gpu", "model_tflops_per_s_per_gpu", "mfu", "breakdown_s", "memory",
                           "links", "bound_by", "loss", "parameters_checksum", "provenance", "performance"}) {
    CAPTURE(name);
    CHECK(json.contains(name));
  }
  CHECK(json["tokens_per_s_per_gpu"] == 25);
  CHECK(json["breakdown_s"]["exposed_communication"]["data"] == 0.5);
  CHECK(json["memory"]["per_stage"][0].contains("peak"));
  CHECK(json["links"][0]["class"] == "nic");
  report.vision = true;
  CHECK(nlohmann::json::parse(to_json(report)).contains("samples_per_s_per_gpu"));
}
