// trainwire import: files of other tools to ours.
#include <fmt/format.h>

#include <fstream>

#include "sim/topology/importers.h"
#include "sim/verbs/output.h"

namespace trainwire {

void import_options(options::options_description& shown) {
  shown.add_options()("gpu", options::value<std::string>()->value_name("NAME"),
                      "which GPU of topologies/gpu it is (otherwise guessed from the file)");
}

int import_verb(const Call& call) {
  if (!call.overrides.empty()) throw UsageError("import has no scenario: --set changes nothing here");
  const std::string &kind = call.positional[0], &file = call.positional[1];
  const Importer* importer = find_importer(kind);
  if (importer == nullptr) {
    std::vector<std::string> names;
    for (const Importer& i : importers()) names.emplace_back(i.name);
    throw UsageError(fmt::format("{} is no kind of file that can be imported. {}", kind, suggestion(kind, names)));
  }
  Problems problems;
  const std::string gpu = call.own.count("gpu") > 0 ? call.own["gpu"].as<std::string>() : "";
  const auto imported = import_topology(*importer, file, gpu, problems);
  problems.throw_if_any();
  for (const std::string& text : imported->assumed) say(call, "assumed: " + text);
  if (call.output.empty()) {
    fmt::print("{}", imported->yaml);
    return done;
  }
  const OutputFolder folder(call.output);
  const auto path = folder.path() / (std::filesystem::path(file).stem().string() + ".yaml");
  const auto beside = std::filesystem::path(path.string() + ".part");
  std::ofstream(beside, std::ios::binary) << imported->yaml;
  std::filesystem::rename(beside, path);
  say(call, fmt::format("written: {}", path.string()));
  return done;
}

}  // namespace trainwire
