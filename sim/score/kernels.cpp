// Tables of measured kernels: every row is priced by the formulas of sim/cost, nothing is simulated.
#include <fmt/format.h>

#include "sim/cost/gpu.h"
#include "sim/config/data_dir.h"
#include "sim/score/tables.h"

namespace trainwire {
namespace {

DeviceSpec load_gpu(const Csv& csv) {
  const std::string name = gpu_file(csv.stem());
  Problems problems;
  if (name.empty()) {
    problems.add({{csv.file.string(), 0}, "", "", "the file's name names no GPU that is known",
                  "Rename it, for example to gemm_h100_sxm.csv"});
    problems.throw_if_any();
  }
  Value value;
  value.kind = Value::Kind::scalar;
  value.scalar = name;
  value.where = {csv.file.string(), 0};
  DeviceSpec spec = load_device(value, data_dir(), problems);
  problems.throw_if_any();
  return spec;
}

// As the tables write it; false: not a type we price.
bool read_dtype(const std::string& text, DType& type) {
  if (text == "bfloat16" || text == "bf16") return type = DType::bf16, true;
  if (text == "float16" || text == "half" || text == "fp16") return type = DType::fp16, true;
  if (text == "fp8") return type = DType::fp8, true;
  return false;
}

// Checks what all kernels need; the reason that remains is why the row has no prediction.
ScoreRow start_row(const Csv& csv, std::size_t i, const DeviceSpec& gpu, DType& type) {
  ScoreRow row;
  row.id = fmt::format("{}:{}", csv.stem(), csv.lines[i]);
  row.measured_s = csv.number(i, "latency_ms") * 1e-3;
  if (!read_dtype(csv.at(i, "dtype"), type))
    row.reason = fmt::format("no prices for {}", csv.at(i, "dtype"));
  else if (gpu.peak[static_cast<std::size_t>(type)].value.value <= 0)
    row.reason = fmt::format("{} has no matrix products in {}", gpu.name, to_text(type));
  return row;
}

void set_groups(ScoreRow& row, const std::string& dtype, const std::vector<std::string>& classes, bool back) {
  for (const std::string& name : classes) {
    if (back) row.groups.push_back(fmt::format("{} {}, kept back", dtype, name));
    row.groups.push_back(fmt::format("{} {}", dtype, name));
  }
}

}  // namespace

bool is_products(const Csv& csv) { return csv.has({"dtype", "m", "n", "k", "latency_ms"}); }

ScoreTable read_products(const Csv& csv) {
  const DeviceSpec gpu = load_gpu(csv);
  ScoreTable table;
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    ProductShape p;
    ScoreRow row = start_row(csv, i, gpu, p.dtype);
    p.m = csv.number(i, "m"), p.n = csv.number(i, "n"), p.k = csv.number(i, "k");
    p.bytes = bytes_of(p.dtype) * (p.m + p.n) * p.k + 2 * p.m * p.n;
    if (row.predicted()) row.predicted_s = gpu.launch.value.value + product_seconds(p, gpu);
    const double work = p.m * p.n * p.k;
    std::vector<std::string> classes{work > 1e9 ? "m n k > 1e9" : "m n k <= 1e9"};
    if (work > 1e11) classes.emplace_back("m n k > 1e11");
    set_groups(row, csv.at(i, "dtype"), classes, kept_back({p.m, p.n, p.k}));
    table.rows.push_back(std::move(row));
  }
  return table;
}

bool is_attention(const Csv& csv) {
  return csv.has({"dtype", "batch", "sequence", "heads", "kv_heads", "head_dim", "latency_ms"});
}

ScoreTable read_attention(const Csv& csv) {
  const DeviceSpec gpu = load_gpu(csv);
  ScoreTable table;
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    AttentionShape a;
    ScoreRow row = start_row(csv, i, gpu, a.dtype);
    a.batch = csv.number(i, "batch"), a.sequence = csv.number(i, "sequence"), a.heads = csv.number(i, "heads");
    a.kv_heads = csv.number(i, "kv_heads"), a.channels = csv.number(i, "head_dim");
    a.bytes = 4 * a.batch * a.sequence * a.channels * (a.heads + a.kv_heads);
    if (row.predicted()) row.predicted_s = attention_launch(gpu) + attention_seconds(a, gpu);
    set_groups(row, csv.at(i, "dtype"), {a.sequence >= 1024 ? "S >= 1024" : "S < 1024"},
               kept_back({a.batch, a.sequence, a.heads, a.kv_heads, a.channels}));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace trainwire
