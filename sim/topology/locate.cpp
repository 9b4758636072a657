// Names and paths of data files.
#include "sim/topology/locate.h"

#include "sim/config/data_dir.h"

namespace trainwire {

Located locate(const Value& name, const std::string& folder, const std::string& key, const std::filesystem::path& base,
               Problems& problems) {
  const auto fail = [&](const std::string& problem, const std::string& fix) {
    problems.add({name.where, key, name.text(), problem, fix});
    return Located{};
  };
  if (name.kind != Value::Kind::scalar) return fail("must be a name, a path or a mapping", "");
  const std::filesystem::path path = name.scalar;
  const bool is_path = name.scalar.find('/') != std::string::npos || path.extension() == ".yaml" ||
                       path.extension() == ".yml" || path.extension() == ".json";
  std::filesystem::path file = is_path ? base / path : data_dir() / folder / (name.scalar + ".yaml");
  std::error_code error;
  if (const auto beside = std::filesystem::path(name.where.file).parent_path() / path;
      is_path && !std::filesystem::is_regular_file(file, error) && std::filesystem::is_regular_file(beside, error))
    file = beside;
  if (!std::filesystem::is_regular_file(file, error)) {
    if (is_path) return fail("is not there", "Looked for " + file.string());
    if (name.scalar == "this-machine") return fail("was not measured yet", "Run `trainwire calibrate` first");
    return fail("is not in " + folder + "/", suggestion(name.scalar, names_in(folder, {".yaml"})));
  }
  const std::size_t before = problems.all().size();
  Value value = read_file(file, problems);
  return {problems.all().size() == before, std::move(value), std::move(file)};
}

}  // namespace trainwire
