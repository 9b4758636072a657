// Files -> Value: what may be read at all, and `include`.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "sim/config/builder.h"
#include "sim/config/value.h"

namespace trainwire {
namespace {

namespace fs = std::filesystem;

// First byte that is not part of UTF-8 text, or npos. Control characters other than tab and line ends count.
std::size_t first_bad_byte(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    std::size_t length = 1;
    if (c < 0x80) {
      if (c < 0x20 && c != '\t' && c != '\n' && c != '\r') return i;
    } else {
      length = c >= 0xF0 && c < 0xF8 ? 4 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xC2 && c < 0xE0 ? 2 : 0;
      if (length == 0 || i + length > text.size()) return i;
      for (std::size_t k = 1; k < length; ++k) {
        if ((static_cast<unsigned char>(text[i + k]) & 0xC0U) != 0x80U) return i;
      }
    }
    i += length;
  }
  return std::string_view::npos;
}

Value parse_text(std::string_view text, const std::string& name, bool json, Problems& problems) {
  if (const auto bad = first_bad_byte(text); bad != std::string_view::npos) {
    problems.add({{name, 0}, "", "", fmt::format("is not a text file (byte {} is not UTF-8 text)", bad + 1), ""});
    return {};
  }
  try {
    Problems own;
    Value value = json ? parse_json(text, name, own) : parse_yaml(text, name, own);
    for (const Problem& problem : own.all()) problems.add(problem);
    if (value.where.file.empty()) value.where = {name, 1};
    return own.empty() ? value : Value{};
  } catch (const ParseError& e) {
    problems.add({{name, e.line}, "", "", e.what(), ""});
    return {};
  }
}

bool is_json(const fs::path& file) { return file.extension() == ".json"; }

// The whole file, or a problem.
bool read_bytes(const fs::path& file, const Where& blame, std::string& text, Problems& problems) {
  std::error_code error;
  const auto refuse = [&](const std::string& what) {
    if (blame.file.empty()) {
      problems.add({{file.string(), 0}, "", "", what, ""});
    } else {
      problems.add({blame, "include", file.string(), what, ""});
    }
    return false;
  };
  const auto status = fs::status(file, error);
  if (!fs::exists(status)) return refuse("there is no such file");
  if (!fs::is_regular_file(status))
    return refuse(fs::is_directory(status) ? "is a folder, not a file" : "is not a file");
  const auto size = fs::file_size(file, error);
  if (error) return refuse("cannot be read: " + error.message());
  const auto limit = is_json(file) ? max_json_bytes : max_yaml_bytes;
  if (size > limit) {
    return refuse(fmt::format("is {} MiB long, files over {} MiB are not read", size >> 20, limit >> 20));
  }
  std::ifstream stream(file, std::ios::binary);
  text.resize(size);
  if (!stream || !stream.read(text.data(), static_cast<std::streamsize>(size))) return refuse("cannot be read");
  return true;
}

// Fields of `over` replace those of `under`; mappings are merged key by key.
void merge(Value& under, const Value& over) {
  for (const auto& [key, field] : over.fields) {
    Value* mine = nullptr;
    for (auto& [name, candidate] : under.fields) {
      if (name == key) mine = &candidate;
    }
    if (mine == nullptr) {
      under.fields.emplace_back(key, field);
    } else if (mine->kind == Value::Kind::map && field.kind == Value::Kind::map) {
      merge(*mine, field);
      mine->where = field.where;
    } else {
      *mine = field;
    }
  }
}

// `chain`: the files that include this one, outermost first.
Value read_chain(const fs::path& file, const Where& blame, std::vector<fs::path>& chain, Problems& problems) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(file, error);
  if (std::find(chain.begin(), chain.end(), real) != chain.end()) {
    std::string circle;
    for (auto at = std::find(chain.begin(), chain.end(), real); at != chain.end(); ++at) {
      circle += at->filename().string() + " -> ";
    }
    problems.add({blame, "include", file.string(), "includes itself: " + circle + real.filename().string(),
                  "Remove one include"});
    return {};
  }
  if (chain.size() >= max_depth) {
    problems.add({blame, "include", file.string(), fmt::format("includes nested deeper than {}", max_depth), ""});
    return {};
  }
  std::string text;
  if (!read_bytes(file, blame, text, problems)) return {};
  Value value = parse_text(text, file.string(), is_json(file), problems);
  const Value* include = value.find("include");
  if (include == nullptr) return value;

  chain.push_back(real);
  Value base;
  base.kind = Value::Kind::map;
  base.where = value.where;
  const std::vector<Value> files = include->kind == Value::Kind::list ? include->items : std::vector<Value>{*include};
  for (const Value& name : files) {
    if (name.kind != Value::Kind::scalar) {
      problems.add({name.where, "include", name.text(), "must be the name of a file, or a list of names", ""});
      continue;
    }
    const Value part = read_chain(file.parent_path() / name.scalar, name.where, chain, problems);
    if (part.kind == Value::Kind::scalar || part.kind == Value::Kind::list) {
      problems.add({name.where, "include", name.scalar, "must hold a mapping", ""});
    } else {
      merge(base, part);
    }
  }
  chain.pop_back();
  std::erase_if(value.fields, [](const auto& field) { return field.first == "include"; });
  merge(base, value);
  return base;
}

}  // namespace

Value read_text(std::string_view text, const std::string& name, Problems& problems) {
  return parse_text(text, name, false, problems);
}

Value read_file(const fs::path& file, Problems& problems) {
  std::vector<fs::path> chain;
  return read_chain(file, {}, chain, problems);
}

}  // namespace trainwire
