// Reads and writes the measurements of a CPU. One `measured:` text is the source of every number of the mapping; tables
// are {elements|bytes: […], seconds: […]}; a product is [form, m, n, k, seconds].
#include "sim/topology/cpu_measurements.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "sim/config/reader.h"

namespace trainwire {
namespace {

constexpr std::array<std::string_view, 3> form_names{"plain", "transposed-b", "transposed-a"};

// Positive numbers; a problem at the list's place otherwise.
std::vector<double> numbers(const Value* list, const std::string& key, Problems& problems) {
  std::vector<double> result;
  if (list == nullptr) return result;
  for (const Value& item : list->items) {
    double number = 0;
    const char* end = item.scalar.data() + item.scalar.size();
    const auto parsed = std::from_chars(item.scalar.data(), end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end || !(number > 0) || !std::isfinite(number)) {
      problems.add({item.where, key, item.text(), "must be a positive number", "Run trainwire calibrate again"});
      return {};
    }
    result.push_back(number);
  }
  return result;
}

Curve read_curve(const Value& value, const std::string& path, const std::string& abscissa, Problems& problems) {
  Reader reader(value, path, problems);
  Curve curve;
  curve.x = numbers(reader.raw(abscissa), reader.path(abscissa), problems);
  curve.y = numbers(reader.raw("seconds"), reader.path("seconds"), problems);
  bool increasing = !curve.x.empty() && curve.x.size() == curve.y.size();
  for (std::size_t i = 1; increasing && i < curve.x.size(); ++i) increasing = curve.x[i] > curve.x[i - 1];
  if (!increasing)
    reader.fail(abscissa, "must be increasing numbers, as many as seconds", "Run trainwire calibrate again");
  reader.finish();
  return increasing ? curve : Curve{};
}

std::map<std::string, Curve> read_curves(Reader& reader, const std::string& key, const std::string& abscissa) {
  std::map<std::string, Curve> curves;
  const Value* value = reader.raw(key);
  if (value == nullptr) return curves;
  for (const auto& [name, curve] : value->fields)
    curves[name] = read_curve(curve, reader.path(key) + "." + name, abscissa, reader.problems());
  return curves;
}

std::vector<MeasuredProduct> read_products(Reader& reader) {
  std::vector<MeasuredProduct> products;
  const Value* list = reader.raw("products");
  if (list == nullptr) return products;
  for (const Value& row : list->items) {
    std::size_t form = 0;
    while (form < form_names.size() && (row.items.size() != 5 || row.items[0].scalar != form_names[form])) ++form;
    if (form == form_names.size()) {
      reader.problems().add({row.where, reader.path("products"), row.text(), "must be [form, m, n, k, seconds]",
                             "Forms: plain, transposed-b, transposed-a"});
      return {};
    }
    Value tail = row;
    tail.items.erase(tail.items.begin());
    const std::vector<double> n = numbers(&tail, reader.path("products"), reader.problems());
    if (n.size() != 4) return {};
    products.push_back(
        {static_cast<ProductForm>(form), std::llround(n[0]), std::llround(n[1]), std::llround(n[2]), n[3]});
  }
  return products;
}

std::string write_numbers(const std::vector<double>& values, const char* format) {
  std::string text;
  for (const double v : values)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", fmt::format(fmt::runtime(format), v));
  return "[" + text + "]";
}

std::string write_curve(const Curve& curve, const char* abscissa) {
  return fmt::format("{{{}: {}, seconds: {}}}", abscissa, write_numbers(curve.x, "{:.0f}"),
                     write_numbers(curve.y, "{:.4g}"));
}

}  // namespace

std::string_view to_text(ProductForm form) { return form_names[static_cast<std::size_t>(form)]; }

CpuMeasurements read_cpu_measurements(const Value& value, Problems& problems) {
  CpuMeasurements cpu;
  Reader reader(value, "cpu", problems);
  reader.require_text("measured");
  cpu.products = read_products(reader);
  if (cpu.products.empty() && problems.empty()) reader.fail("products", "is missing", "Run trainwire calibrate");
  cpu.kernels = read_curves(reader, "kernels", "elements");
  cpu.messages = read_curves(reader, "messages", "bytes");
  if (const Value* reduction = reader.raw("reduction"))
    cpu.reduction = read_curve(*reduction, reader.path("reduction"), "bytes", problems);
  cpu.operation_overhead = reader.quantity<Seconds>("operation_overhead", Seconds(0));
  cpu.cores = static_cast<int>(reader.integer("cores", 1, 1, 1 << 16));
  cpu.core_sharing = reader.number("core_sharing", 1.0, 1.0, 100.0);
  reader.finish();
  return cpu;
}

std::string write_cpu_measurements(const CpuMeasurements& cpu, const std::string& measured, int indent) {
  const std::string blanks(static_cast<std::size_t>(indent), ' ');
  std::string text;
  const auto line = [&](const std::string& content) { text += blanks + content + "\n"; };
  line(fmt::format("measured: \"{}\"", measured));
  line(fmt::format("cores: {}", cpu.cores));
  line(fmt::format("core_sharing: {:.3f}", cpu.core_sharing));
  line(fmt::format("operation_overhead: {:.3f} us", cpu.operation_overhead.value * 1e6));
  line("products:  # form, m, n, k, seconds");
  for (const MeasuredProduct& p : cpu.products)
    line(fmt::format("  - [{}, {}, {}, {}, {:.4g}]", to_text(p.form), p.m, p.n, p.k, p.seconds));
  line("kernels:");
  for (const auto& [name, curve] : cpu.kernels) line(fmt::format("  {}: {}", name, write_curve(curve, "elements")));
  line("messages:");
  for (const auto& [name, curve] : cpu.messages) line(fmt::format("  {}: {}", name, write_curve(curve, "bytes")));
  if (!cpu.reduction.x.empty()) line("reduction: " + write_curve(cpu.reduction, "bytes"));
  return text;
}

}  // namespace trainwire
