// Messages about bad input, and the nearest known names for "did you mean".
#include "sim/config/problems.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace trainwire {
namespace {

constexpr std::size_t max_shown = 50;

std::string joined(const std::vector<Problem>& problems) {
  std::string text;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (i > 0) text += '\n';
    if (i == max_shown) return text + fmt::format("... and {} more problems.", problems.size() - i);
    text += to_text(problems[i]);
  }
  return text;
}

std::string sentence(const std::string& text) {
  if (text.empty() || text.find_last_of(".?!") == text.size() - 1) return text;
  return text + ".";
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Edit distance that counts a swap of two neighbours as one edit (optimal string alignment).
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string to_text(const Problem& p) {
  std::string text = p.where.file;
  if (p.where.line > 0) text += fmt::format(":{}", p.where.line);
  if (!text.empty()) text += ": ";
  if (!p.key.empty()) text += p.value.empty() ? p.key + ": " : fmt::format("{} = {}: ", p.key, p.value);
  text += sentence(p.problem);
  if (!p.fix.empty()) text += " " + sentence(p.fix);
  return text;
}

ConfigError::ConfigError(const std::vector<Problem>& problems) : std::runtime_error(joined(problems)) {}

void Problems::throw_if_any() const {
  if (!problems_.empty()) throw ConfigError(problems_);
}

std::vector<std::string> nearest(const std::string& name, const std::vector<std::string>& known) {
  std::vector<std::pair<std::size_t, std::string>> near;
  const std::string wanted = lower(name.substr(0, 100));
  const std::size_t limit = std::max<std::size_t>(1, std::min<std::size_t>(4, wanted.size() / 3));
  for (const std::string& candidate : known) {
    const std::string other = lower(candidate);
    const std::size_t distance = edit_distance(wanted, other);
    // A name that is a piece of another is near it, whatever is missing: h100 -> dgx-h100.
    const bool piece = wanted.size() >= 3 && other.find(wanted) != std::string::npos;
    if (distance <= limit || piece) near.emplace_back(piece ? std::min(distance, limit) : distance, candidate);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < near.size() && i < 3; ++i) names.push_back(near[i].second);
  return names;
}

std::string suggestion(const std::string& name, const std::vector<std::string>& known) {
  const auto near = nearest(name, known);
  if (!near.empty()) return fmt::format("Did you mean {}?", fmt::join(near, " or "));
  if (known.empty()) return "";
  return fmt::format("Known: {}.", fmt::join(known, ", "));
}

}  // namespace trainwire
