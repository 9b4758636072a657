// A sound small scenario on one DGX H100, and the message of one that is not.
#pragma once
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"
#include "tests/config/files.h"
#include "tests/test.h"

// 4 heads of 16, 8 blocks; everything divides by 2 and 4.
inline const std::string toy_model =
    "model: {family: transformer, layers: 8, hidden: 64, heads: 4, ffn_hidden: 256, vocab: 512, max_sequence: 128,\n"
    "        positions: learned, source: test}\n";
inline const std::string toy = toy_model + "topology: dgx-h100\ntraining: {sequence: 128, global_batch: 64}\n";

inline trainwire::Scenario load(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const TestFolder folder("scenario");
  return trainwire::load_scenario(folder.write("x.yaml", text), overrides);
}

inline std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const TestFolder folder("scenario");
  const auto file = folder.write("x.yaml", text);
  try {
    trainwire::load_scenario(file, overrides);
  } catch (const trainwire::ConfigError& e) { return e.what(); }
  return "";
}
