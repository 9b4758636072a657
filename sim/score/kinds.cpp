// The kinds of tables that are read.
#include <fmt/format.h>

#include "sim/config/problems.h"
#include "sim/score/tables.h"

namespace trainwire {

const std::vector<TableKind>& table_kinds() {
  static const std::vector<TableKind> table{
      {"vtrain", is_vtrain, read_vtrain},
      {"products", is_products, read_products},
      {"attention", is_attention, read_attention},
      {"nccl", is_nccl, read_nccl},
      {"steps", is_steps, read_steps},
  };
  return table;
}

ScoreTable read_table(const std::filesystem::path& file) {
  const Csv csv = read_csv(file);
  for (const TableKind& kind : table_kinds()) {
    if (!kind.matches(csv)) continue;
    ScoreTable table = kind.read(csv);
    table.name = csv.stem();
    table.kind = kind.name;
    return table;
  }
  std::string known;
  for (const TableKind& kind : table_kinds()) known += fmt::format("{}{}", known.empty() ? "" : ", ", kind.name);
  throw ConfigError({{{file.string(), 1},
                      "",
                      "",
                      "the column names are those of no table that is known",
                      fmt::format("Known: {}. sim/score/README.md lists their columns", known)}});
}

}  // namespace trainwire
