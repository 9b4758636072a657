// `collectives:` of a scenario: an algorithm for all axes, or one by axis. What it does not apply to is chosen as
// usual.
#include "sim/scenario/read.h"

namespace trainwire {

void read_collectives(Reader& reader, Scenario& scenario) {
  const Value* value = reader.raw("collectives");
  if (value == nullptr || value->kind == Value::Kind::null) return;
  const std::vector<std::string> names{"auto", "ring", "tree", "halving-doubling", "nvls", "hierarchical", "direct"};
  const auto chosen = [&](Reader& from, const std::string& key) {
    const std::string name = from.choice(key, names, "auto");
    return name == "auto" ? std::string() : name;
  };
  if (value->kind == Value::Kind::scalar) {
    scenario.collectives.fill(chosen(reader, "collectives"));
    return;
  }
  Reader axes(*value, "collectives", reader.problems());
  for (int a = 0; a < group_count; ++a) {
    const auto axis = static_cast<Axis>(a);
    if (const std::string key(to_text(axis)); axes.has(key))
      scenario.collectives[static_cast<std::size_t>(a)] = chosen(axes, key);
    else if (a >= axis_count)  // groups that add gradients up go by the data axis
      scenario.collectives[static_cast<std::size_t>(a)] = scenario.collectives[static_cast<std::size_t>(Axis::data)];
  }
  axes.finish();
}

}  // namespace trainwire
