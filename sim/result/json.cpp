// report.json: the names that scripts rely on.
#include <nlohmann/json.hpp>

#include "sim/result/report.h"

namespace trainwire {
namespace {

using Json = nlohmann::ordered_json;

// The rest of the links is in links.csv.
constexpr std::size_t links_in_report = 100;

Json breakdown_json(const Breakdown& parts) {
  Json exposed = Json::object();
  for (const auto& [axis, seconds] : parts.exposed_s) exposed[axis] = seconds;
  return {{"compute", parts.compute_s},
          {"exposed_communication", exposed},
          {"bubble", parts.bubble_s},
          {"other", parts.other_s}};
}

Json memory_json(const Report& report) {
  Json stages = Json::array();
  for (const auto& m : report.memory)
    stages.push_back({{"stage", m.stage},
                      {"parameters", m.parameters},
                      {"gradients", m.gradients},
                      {"optimizer", m.optimizer},
                      {"activations", m.activations},
                      {"workspace", m.workspace},
                      {"peak", m.peak}});
  return {{"capacity_bytes", report.capacity_bytes},
          {"peak_bytes", report.peak_bytes},
          {"fits", report.fits},
          {"per_stage", stages}};
}

Json links_json(const Report& report) {
  Json links = Json::array();
  for (const auto& link : report.links) {
    if (links.size() == links_in_report) break;
    links.push_back({{"name", link.name},
                     {"class", link.kind},
                     {"bytes", link.bytes},
                     {"busy_s", link.busy_s},
                     {"utilisation", link.utilisation},
                     {"copies", link.copies}});
  }
  return links;
}

Json provenance_json(const Report& report) {
  Json rows = Json::array();
  for (const auto& p : report.provenance)
    rows.push_back({{"quantity", p.quantity},
                    {"value", p.value},
                    {"origin", std::string(to_text(p.origin))},
                    {"source", p.source}});
  return rows;
}

}  // namespace

std::string to_json(const Report& report) {
  Json json{{"schema", "trainwire.report/1"}, {"scenario", report.scenario},     {"kind", report.kind},
            {"executor", report.executor},    {"world_size", report.world_size}, {"step_time_s", report.step_time_s}};
  const std::string rate = report.vision ? "samples_per_s" : "tokens_per_s";
  json[rate] = report.tokens_per_s;
  json[rate + "_per_gpu"] = report.tokens_per_s / report.world_size;
  json["model_tflops_per_s_per_gpu"] = report.model_flops_per_s_per_gpu / 1e12;
  json["mfu"] = report.mfu;
  json["breakdown_s"] = breakdown_json(report.breakdown);
  json["memory"] = memory_json(report);
  json["links"] = links_json(report);
  json["bound_by"] = Json::array();
  for (const auto& part : report.bound_by) json["bound_by"].push_back({{"what", part.what}, {"share", part.share}});
  if (report.kind == "executed") {
    json["loss"] = report.loss;
    json["parameters_checksum"] = report.parameters_checksum;
    json["step_times_s"] = report.step_times_s;
  }
  json["provenance"] = provenance_json(report);
  json["performance"] = {
      {"wall_s", report.wall_s}, {"peak_rss_bytes", report.peak_rss_bytes}, {"activities", report.activities}};
  json["warnings"] = report.warnings;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace trainwire
