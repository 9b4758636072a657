// Reads the matrix. Columns are separated by tabs (as printed) or by blanks (as pasted into web pages).
#include "sim/topology/importers/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

namespace trainwire {
namespace {

constexpr std::size_t most_columns = 256, most_lines = 4096;
constexpr std::array<std::string_view, 8> kind_names{"X", "NV#", "PIX", "PXB", "PHB", "NODE", "SYS", "?"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n' && lines.size() < most_lines)
      lines.emplace_back();
    else if (c != '\r' && c != '\n')
      lines.back() += c;
  }
  return lines;
}

// Words; with tabs, cells may be empty and keep their place.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  const bool tabs = line.find('\t') != std::string::npos;
  for (const char c : line) {
    if (tabs ? c == '\t' : (c == ' ')) {
      if (tabs || !cells.back().empty()) cells.emplace_back();
    } else if (c != ' ') {
      cells.back() += c;
    }
  }
  while (!cells.empty() && cells.back().empty()) cells.pop_back();
  return cells;
}

bool is_gpu_name(const std::string& cell) {
  return cell.size() > 3 && cell.size() < 8 && cell.starts_with("GPU") &&
         std::all_of(cell.begin() + 3, cell.end(), [](char c) { return c >= '0' && c <= '9'; });
}

struct Parser {
  TopoMatrix m;
  Problems& problems;
  int header = 0;  // its line
  std::vector<Relation> rows;

  void fail(int line, const std::string& key, const std::string& value, const std::string& problem,
            const std::string& fix = "") {
    problems.add({{m.file, line}, key, value.substr(0, 40), problem, fix});
  }
  bool read_header(const std::vector<std::string>& lines);
  void read_row(std::size_t row, const std::vector<std::string>& cells, int line);
  bool read_rows(const std::vector<std::string>& lines);
  Relation relation(const std::string& cell, std::size_t row, std::size_t column, int line);
  void mirror();
};

bool Parser::read_header(const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size() && header == 0; ++i) {
    std::vector<std::string> cells = cells_of(lines[i]);
    if (!cells.empty() && cells[0].empty()) cells.erase(cells.begin());
    if (cells.empty() || cells[0] != "GPU0") continue;
    // A row begins with GPU0 too, but its next cell is no name.
    if (cells.size() > 1 && !is_gpu_name(cells[1]) && cells[1] != "CPU" && cells[1] != "CPUAffinity" &&
        cells[1].find_first_of("0123456789") == std::string::npos)
      continue;
    if (cells.size() > 1 && (cells[1] == "X" || cells[1].starts_with("NV"))) continue;
    header = static_cast<int>(i) + 1;
    for (const std::string& cell : cells) {
      if (cell == "CPU" || cell.starts_with("CPUAff") || cell == "NUMA" || cell.empty()) break;
      m.names.push_back(cell);
    }
  }
  if (header == 0) {
    fail(1, "", "", "has no line of column names (GPU0, GPU1, …, CPU Affinity)",
         "Take the whole output of `nvidia-smi topo -m`");
    return false;
  }
  if (m.names.size() > most_columns) {
    fail(header, "", "", fmt::format("has more than {} columns", most_columns));
    return false;
  }
  int gpus = 0, ports = 0;
  std::map<std::string, int> seen;
  for (std::size_t i = 0; i < m.names.size(); ++i) {
    if (!seen.emplace(m.names[i], 0).second) fail(header, m.names[i], "", "stands twice among the columns");
    const bool gpu = is_gpu_name(m.names[i]);
    if (m.is_gpu(i) && (!gpu || m.names[i] != fmt::format("GPU{}", gpus)))
      fail(header, m.names[i], "", fmt::format("stands where GPU{} should: columns are missing or merged", gpus));
    m.number.push_back(gpu ? gpus++ : ports++);
  }
  m.numa.resize(m.names.size());
  m.line.resize(m.names.size());
  rows.resize(m.names.size() * m.names.size());
  return true;
}

Relation Parser::relation(const std::string& cell, std::size_t row, std::size_t column, int line) {
  if (row == column) {
    if (cell != "X")
      fail(line, m.names[row], cell, fmt::format("stands where X should: columns are missing or merged"));
    return {Relation::Kind::self, 0};
  }
  for (const auto kind :
       {Relation::Kind::pix, Relation::Kind::pxb, Relation::Kind::phb, Relation::Kind::node, Relation::Kind::sys})
    if (cell == to_text(kind)) return {kind, 0};
  if (cell == "SOC") return {Relation::Kind::sys, 0};  // as old drivers call it
  if (cell.starts_with("NV")) {
    int links = 0;
    const auto [end, error] = std::from_chars(cell.data() + 2, cell.data() + cell.size(), links);
    if (error == std::errc() && end == cell.data() + cell.size() && links >= 1 && links <= 64)
      return {Relation::Kind::nvlink, links};
  }
  fail(line, fmt::format("{} to {}", m.names[row], m.names[column]), cell, "is no kind of connection",
       "Known: X, NV# (NVLinks), PIX, PXB, PHB, NODE, SYS");
  return {};
}

void Parser::read_row(std::size_t row, const std::vector<std::string>& cells, int line) {
  const std::size_t count = m.names.size();
  if (m.line[row] != 0) return fail(line, m.names[row], "", "has a second row");
  m.line[row] = line;
  if (cells.size() < count + 1)
    return fail(line, m.names[row], "",
                fmt::format("has {} entries for {} columns (names in line {})", cells.size() - 1, count, header),
                "Columns are missing or merged: take the whole output of `nvidia-smi topo -m`");
  for (std::size_t column = 0; column < count; ++column)
    rows[row * count + column] = relation(cells[column + 1], row, column, line);
  // CPU affinity, then the NUMA node: a number or ranges of numbers.
  if (cells.size() > count + 2)
    if (const std::string& numa = cells[count + 2]; !numa.empty() && numa[0] >= '0' && numa[0] <= '9')
      m.numa[row] = numa;
}

bool Parser::read_rows(const std::vector<std::string>& lines) {
  for (std::size_t i = static_cast<std::size_t>(header); i < lines.size(); ++i) {
    std::vector<std::string> cells = cells_of(lines[i]);
    if (cells.empty()) break;  // the legend, or another table
    const auto name = std::find(m.names.begin(), m.names.end(), cells[0]);
    if (name != m.names.end())
      read_row(static_cast<std::size_t>(name - m.names.begin()), cells, static_cast<int>(i) + 1);
    else
      fail(static_cast<int>(i) + 1, "", cells[0], "begins a row, but no column has that name");
  }
  std::string missing;
  for (std::size_t i = 0; i < m.names.size(); ++i)
    if (m.is_gpu(i) && m.line[i] == 0) missing += (missing.empty() ? "" : ", ") + m.names[i];
  if (!missing.empty())
    fail(header, missing, "", "has a column but no row: the matrix was cut off",
         "Take the whole output of `nvidia-smi topo -m`");
  return missing.empty();
}

// A port without a row is known by its column. Both ways must agree.
void Parser::mirror() {
  const std::size_t count = m.names.size();
  m.relations = rows;
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b < count; ++b) {
      if (m.line[a] == 0 && m.line[b] != 0) m.relations[a * count + b] = rows[b * count + a];
      const Relation &there = rows[a * count + b], &back = rows[b * count + a];
      if (b < a && m.line[a] != 0 && m.line[b] != 0 && (there.kind != back.kind || there.links != back.links))
        fail(m.line[a], fmt::format("{} to {}", m.names[a], m.names[b]), "", "is not the same in both directions",
             "The matrix contradicts itself: print it again");
    }
}

}  // namespace

std::string_view to_text(Relation::Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

std::optional<TopoMatrix> read_topo_matrix(const std::string& text, const std::string& file, Problems& problems) {
  const std::size_t before = problems.all().size();
  Parser parser{{}, problems, 0, {}};
  parser.m.file = file;
  const std::vector<std::string> lines = lines_of(text);
  if (!parser.read_header(lines) || !parser.read_rows(lines)) return std::nullopt;
  parser.mirror();
  if (problems.all().size() != before) return std::nullopt;
  return std::move(parser.m);
}

}  // namespace trainwire
