// trainwire score: predictions against tables of published measurements.
#include <fmt/format.h>

#include <algorithm>

#include "sim/config/problems.h"
#include "sim/verbs/output.h"
#ifdef TRAINWIRE_HAS_SIMGRID
#include "sim/score/statistics.h"
#include "sim/score/write.h"
#endif

namespace trainwire {

void score_options(options::options_description& description) {
  auto add = description.add_options();
  add("rows", "list every row, not only the sums");
  add("show", options::value<std::string>()->value_name("ROW"), "print the scenario of one row and predict nothing");
  add("explain-error", options::value<std::string>()->value_name("ROW"),
      "what each phase of one row takes, and what would explain its error");
  add("workers", options::value<int>()->default_value(0)->value_name("N"), "processes that predict; 0: one a core");
}

#ifdef TRAINWIRE_HAS_SIMGRID

namespace {

const ScoreRow& find_row(const std::vector<ScoreTable>& tables, const std::string& id, const char* option) {
  std::vector<std::string> ids;
  for (const ScoreTable& table : tables) {
    for (const ScoreRow& row : table.rows) {
      if (row.id == id) return row;
      ids.push_back(row.id);
    }
  }
  throw UsageError(fmt::format("--{} {}: there is no such row. {}", option, id, suggestion(id, ids)));
}

int show(const std::vector<ScoreTable>& tables, const std::string& id) {
  const ScoreRow& row = find_row(tables, id, "show");
  fmt::print("# measured: {:.6g} s{}\n{}", row.measured_s, row.note.empty() ? "" : "; " + row.note,
             row.step ? row.step->scenario : "# no scenario: " + row.reason + "\n");
  return done;
}

int explain(const std::vector<ScoreTable>& tables, const std::string& id) {
  fmt::print("{}", explain_error(find_row(tables, id, "explain-error")));
  return done;
}

}  // namespace

int score_verb(const Call& call) {
  if (!call.overrides.empty()) throw UsageError("score has no scenario: --set changes nothing here");
  std::vector<ScoreTable> tables;
  for (const std::string& file : call.positional) tables.push_back(read_table(file));
  if (call.own.count("show") > 0) return show(tables, call.own["show"].as<std::string>());
  const OutputFolder folder(call.output.empty() ? std::filesystem::path("reports/runs/score") : call.output);
  const int asked = call.own["workers"].as<int>();
  const int workers = asked > 0 ? asked : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (call.own.count("explain-error") > 0) return explain(tables, call.own["explain-error"].as<std::string>());
  predict_steps(tables, workers);
  for (ScoreTable& table : tables) add_intervals(table);
  write_score(folder.path(), tables);
  if (call.json)
    fmt::print("{}", score_json(tables));
  else
    fmt::print("{}", score_text(tables, call.own.count("rows") > 0));
  say(call, fmt::format("results: {}", folder.path().string()));
  return done;
}

#else

int score_verb(const Call&) {
  throw UsageError("this build cannot score: it was made without SimGrid (Debian, Ubuntu: apt install libsimgrid-dev)");
}

#endif

}  // namespace trainwire
