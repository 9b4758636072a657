#include "sim/score/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/result/files.h"
#include "sim/score/statistics.h"

namespace trainwire {
namespace {

constexpr std::size_t most_listed = 10;

std::vector<const ScoreRow*> all_rows(const std::vector<ScoreTable>& tables) {
  std::vector<const ScoreRow*> rows;
  for (const ScoreTable& table : tables)
    for (const ScoreRow& row : table.rows) rows.push_back(&row);
  return rows;
}

std::string tau_text(const Statistics& s) { return s.ranked ? fmt::format("{:6.3f}", s.tau) : "     –"; }

std::string line(const std::string& name, const Statistics& s) {
  std::string text = fmt::format("  {:44}{:7}{:7}", name, s.rows, s.rows - s.predicted);
  if (s.predicted == 0) return text + "\n";
  text += fmt::format("{:8.1f}{:8.1f}{:8.1f}{:8.1f}{:+8.1f} {}", s.mape, s.median, s.p90, s.worst, s.bias, tau_text(s));
  if (s.with_interval > 0) text += fmt::format("  {:4.0f} % in their 80 % interval", s.covered);
  return text + "\n";
}

// Reasons why rows have no prediction, the most frequent first.
std::string misses(const ScoreTable& table) {
  std::map<std::string, int> count;
  for (const ScoreRow& row : table.rows)
    if (!row.predicted()) ++count[row.reason];
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [reason, n] : count) sorted.emplace_back(-n, reason);
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i == most_listed) return text + fmt::format("  … and {} more reasons (rows.csv has all)\n", sorted.size() - i);
    text += fmt::format("  {} not predicted: {}\n", -sorted[i].first, sorted[i].second);
  }
  return text;
}

std::string worst_rows(const ScoreTable& table) {
  std::vector<const ScoreRow*> rows;
  for (const ScoreRow& row : table.rows)
    if (row.predicted()) rows.push_back(&row);
  const std::size_t count = std::min(rows.size(), most_listed);
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end(),
                    [](const ScoreRow* a, const ScoreRow* b) { return std::abs(a->error()) > std::abs(b->error()); });
  std::string text = count > 0 ? "  worst:\n" : "";
  for (std::size_t i = 0; i < count; ++i)
    text += fmt::format("    {:32}{:+8.1f} %  predicted {:.6g} s, measured {:.6g} s  {}\n", rows[i]->id,
                        100 * rows[i]->error(), rows[i]->predicted_s, rows[i]->measured_s, rows[i]->alike);
  return text;
}

std::string table_text(const ScoreTable& table, bool every_row) {
  const TableScore score = score_of(table);
  std::string text = fmt::format("{} ({})\n  {:44}{:>7}{:>7}{:>8}{:>8}{:>8}{:>8}{:>8} {:>6}\n", table.name, table.kind,
                                 "", "rows", "missed", "MAPE %", "median", "p90", "worst", "bias", "tau");
  for (const Statistics& s : score.groups)
    if (score.groups.size() > 1) text += line(s.name, s);
  text += line("all", score.all);
  if (!std::isnan(score.tau_alike))
    text += fmt::format("  tau among rows that differ in their split alone: {:.3f}\n", score.tau_alike);
  for (const Baseline& b : score.baselines)
    text += fmt::format("  {:44}{:22.1f}   (one factor, fitted to these rows)\n", b.name, b.mape);
  text += misses(table) + worst_rows(table);
  if (!every_row) return text;
  text += fmt::format("  {:44}{:>14}{:>14}{:>9}\n", "row", "predicted s", "measured s", "error %");
  for (const ScoreRow& row : table.rows) {
    if (row.predicted())
      text += fmt::format("  {:44}{:14.6g}{:14.6g}{:+9.1f}\n", row.id, row.predicted_s, row.measured_s,
                          100 * row.error());
    else
      text += fmt::format("  {:44}{:>14}{:14.6g}{:>9}  {}\n", row.id, "–", row.measured_s, "missed", row.reason);
  }
  return text;
}

std::string statistics_json(const Statistics& s, const std::string& more = "") {
  return fmt::format(
      "{{\"name\": {}, \"rows\": {}, \"predicted\": {}, \"mape_percent\": {:.4f}, \"median_percent\": {:.4f}, "
      "\"p90_percent\": {:.4f}, \"worst_percent\": {:.4f}, \"bias_percent\": {:.4f}, \"kendall_tau\": {}{}}}",
      json_string(s.name), s.rows, s.predicted, s.mape, s.median, s.p90, s.worst, s.bias,
      s.ranked ? fmt::format("{:.4f}", s.tau) : "null", more);
}

std::string table_json(const ScoreTable& table) {
  const TableScore score = score_of(table);
  Statistics all = score.all;
  all.name = table.name;
  std::string more = fmt::format(", \"kind\": {}, \"kendall_tau_alike\": {}, \"groups\": [", json_string(table.kind),
                                 std::isnan(score.tau_alike) ? "null" : fmt::format("{:.4f}", score.tau_alike));
  for (std::size_t i = 0; i < score.groups.size(); ++i)
    more += (i > 0 ? ",\n    " : "\n    ") + statistics_json(score.groups[i]);
  return statistics_json(all, more + "]");
}

std::string row_json(const ScoreTable& table, const ScoreRow& row) {
  std::string text = fmt::format("{{\"id\": {}, \"table\": {}, \"measured_s\": {:.9g}", json_string(row.id),
                                 json_string(table.name), row.measured_s);
  if (row.predicted())
    text += fmt::format(", \"predicted_s\": {:.9g}, \"error_percent\": {:.4f}", row.predicted_s, 100 * row.error());
  else
    text += ", \"predicted_s\": null, \"error_percent\": null";
  return text + fmt::format(", \"reason\": {}}}", row.reason.empty() ? "null" : json_string(row.reason));
}

}  // namespace

std::string score_text(const std::vector<ScoreTable>& tables, bool every_row) {
  std::string text;
  for (const ScoreTable& table : tables) text += (text.empty() ? "" : "\n") + table_text(table, every_row);
  return text;
}

std::string score_json(const std::vector<ScoreTable>& tables) {
  std::string text = "{\"schema\": \"trainwire.score/1\",\n\"tables\": [";
  for (const ScoreTable& table : tables) text += (&table == tables.data() ? "\n  " : ",\n  ") + table_json(table);
  const std::vector<const ScoreRow*> rows = all_rows(tables);
  text += fmt::format("],\n\"overall\": {},\n\"baselines\": [", statistics_json(statistics_of("overall", rows)));
  const std::vector<Baseline> simple = baselines(rows);
  for (const Baseline& b : simple)
    text += fmt::format("{}{{\"name\": {}, \"mape_percent\": {:.4f}}}", &b == simple.data() ? "" : ", ",
                        json_string(b.name), b.mape);
  text += "],\n\"rows\": [";
  bool first = true;
  for (const ScoreTable& table : tables) {
    for (const ScoreRow& row : table.rows) {
      text += (first ? "\n  " : ",\n  ") + row_json(table, row);
      first = false;
    }
  }
  return text + "]}\n";
}

void write_score(const std::filesystem::path& folder, const std::vector<ScoreTable>& tables) {
  const auto csv = [&](Sink& sink) {
    sink.print("table,id,group,alike,predicted_s,measured_s,error_percent,low_s,high_s,reason\n");
    for (const ScoreTable& table : tables) {
      for (const ScoreRow& row : table.rows) {
        sink.print("{},{},{},{},", csv_field(table.name), csv_field(row.id),
                   csv_field(row.groups.empty() ? "" : row.groups[0]), csv_field(row.alike));
        if (row.predicted())
          sink.print("{:.9g},{:.9g},{:.4f},", row.predicted_s, row.measured_s, 100 * row.error());
        else
          sink.print(",{:.9g},,", row.measured_s);
        if (row.high_s > 0)
          sink.print("{:.6g},{:.6g},", row.low_s, row.high_s);
        else
          sink.print(",,");
        sink.print("{}\n", csv_field(row.reason));
      }
    }
  };
  write_files(folder, {{"score.json", [&](Sink& sink) { sink.print("{}", score_json(tables)); }}, {"rows.csv", csv}});
}

}  // namespace trainwire
