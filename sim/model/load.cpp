// Finds a model by name, path or in place, and puts overrides on top.
#include <fmt/format.h>

#include "sim/config/data_dir.h"
#include "sim/model/families/families.h"

namespace trainwire {
namespace {

namespace fs = std::filesystem;
const std::vector<std::string> endings = {".yaml", ".yml", ".json"};

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.emplace_back(family.name);
  return names;
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool looks_like_path(const std::string& text) {
  const std::string ending = fs::path(text).extension().string();
  return text.find('/') != std::string::npos || ending == ".yaml" || ending == ".yml" || ending == ".json";
}

// The file that `text` means: relative to the file that says so, else to the current folder; a folder means its
// config.json; a plain name is looked up in models/. Empty: a problem was added.
fs::path find_file(const std::string& text, const Value& value, const std::string& key, const fs::path& base,
                   Problems& problems) {
  if (!looks_like_path(text)) {
    for (const std::string& ending : endings) {
      const fs::path file = data_dir() / "models" / (text + ending);
      if (is_file(file)) return file;
    }
    problems.add(
        {value.where, key, text, "no model of this name in models/", suggestion(text, names_in("models", endings))});
    return {};
  }
  for (const fs::path& candidate : {base / text, fs::path(text)})
    for (const fs::path& file : {candidate, candidate / "config.json"})
      if (is_file(file)) return file;
  problems.add({value.where, key, text, "there is no such file",
                "Give a path to a model file or to a Hugging Face config.json, or a name in models/."});
  return {};
}

Model read_any(const Value& value, Problems& problems) {
  const Value* family = value.find("family");
  if (family == nullptr) {
    if (value.find("architectures") != nullptr || value.find("model_type") != nullptr ||
        value.where.file.ends_with(".json"))
      return read_hf_config(value, problems);
    problems.add({value.where, "family", "", "missing: which kind of model is it?",
                  fmt::format("Known: {}.", fmt::join(family_names(), ", "))});
    return {};
  }
  for (const Family& known : families())
    if (family->kind == Value::Kind::scalar && family->scalar == known.name) return known.read(value, problems);
  problems.add({family->where, "family", family->text(), "no such family of models",
                suggestion(family->scalar, family_names())});
  return {};
}

Model read_model_file(const fs::path& file, Problems& problems) {
  const std::size_t before = problems.all().size();
  const Value value = read_file(file, problems);
  if (problems.all().size() != before) return {};
  Model model;
  if (value.kind == Value::Kind::map)
    model = read_any(value, problems);
  else
    problems.add({{file.string(), 1}, "", "", "a model is a mapping of keys to values", ""});
  if (model.name.empty())
    model.name = file.stem() == "config" ? file.parent_path().filename().string() : file.stem().string();
  if (model.where.file.empty()) model.where = {file.string(), 1};
  return model;
}

// {use: NAME, key: value …}: the keys of our format, whatever the named file is written in.
void apply_overrides(const Value& value, Model& model, Problems& problems) {
  if (value.fields.size() == 1) return;
  model.published_parameters.reset();
  Reader reader(value, "model", problems);
  reader.raw("use");
  model.name = reader.text("name", model.name);
  if (model.family == "transformer") read_transformer_fields(reader, model);
  if (model.family == "mlp") read_mlp_fields(reader, model);
  if (model.family == "cnn") read_cnn_fields(reader, model);
  reader.finish();
}

// The published number is a check of the sizes. Only asked of sound models: expanding others may not end well.
void check_parameters(const Model& model, Problems& problems) {
  if (!model.published_parameters) return;
  const std::int64_t count = parameter_count(model);
  if (count == *model.published_parameters) return;
  problems.add({model.where, "parameters", std::to_string(*model.published_parameters),
                fmt::format("with these sizes model {} has {} parameters", model.name, count),
                "Correct the sizes or the number."});
}

}  // namespace

Model load_model(const Value& value, const fs::path& base, Problems& problems) {
  const std::size_t before = problems.all().size();
  Model model;
  const Value* use = value.find("use");
  if (value.kind == Value::Kind::scalar || (use != nullptr && use->kind == Value::Kind::scalar)) {
    const Value& name = use != nullptr ? *use : value;
    const fs::path file = find_file(name.scalar, name, use != nullptr ? "model.use" : "model", base, problems);
    if (!file.empty()) model = read_model_file(file, problems);
    if (problems.all().size() == before && use != nullptr) apply_overrides(value, model, problems);
  } else if (value.kind == Value::Kind::map && use == nullptr) {
    model = read_any(value, problems);
    if (model.name.empty()) model.name = model.family;
  } else {
    problems.add({value.where, "model", value.text(), "must be a name in models/, a path, or a mapping", ""});
  }
  if (problems.all().size() == before) check_parameters(model, problems);
  return model;
}

}  // namespace trainwire
