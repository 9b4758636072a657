// Scores as text for a person, as JSON ("tables", "overall", "baselines", "rows") and as CSV.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "sim/score/score.h"

namespace trainwire {

std::string score_text(const std::vector<ScoreTable>&, bool every_row);
// What each phase of a step is predicted to take, and which change of one alone would explain the error.
std::string explain_error(const ScoreRow&);
std::string score_json(const std::vector<ScoreTable>&);
// score.json and rows.csv. Throws ConfigError when the folder cannot be written.
void write_score(const std::filesystem::path& folder, const std::vector<ScoreTable>&);

}  // namespace trainwire
