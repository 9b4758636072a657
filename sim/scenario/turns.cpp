#include "sim/scenario/turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

namespace trainwire {
namespace {

// The number at the front of `text`, which loses it. -1: there is none.
int take_number(std::string_view& text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool read_turn(std::string_view word, Turn& turn) {
  const std::size_t letter = std::string_view("FBW").find(word.empty() ? '?' : word[0]);
  if (letter == std::string_view::npos) return false;
  constexpr TurnKind kinds[] = {TurnKind::forward, TurnKind::backward, TurnKind::weight_gradient};
  turn.kind = kinds[letter];
  word.remove_prefix(1);
  turn.micro_batch = take_number(word);
  if (turn.micro_batch >= 0 && !word.empty() && word[0] == '.') {
    word.remove_prefix(1);
    turn.chunk = take_number(word);
  }
  return turn.micro_batch >= 0 && turn.chunk >= 0 && word.empty();
}

using Piece = std::pair<std::int32_t, std::int32_t>;  // micro-batch, chunk of the stage
using Message = std::tuple<bool, std::int32_t, int>;  // forward, micro-batch, piece of the model that it leaves

bool is_backward(TurnKind k) { return k == TurnKind::backward || k == TurnKind::input_gradient; }

// The turns of all stages under way: every stage computes, sends and receives in the order of its turns.
class Progress {
 public:
  Progress(const std::vector<Turns>& turns, const PipelineShape& shape) : turns_(turns), shape_(shape) {
    const auto stages = static_cast<std::size_t>(shape.stages);
    computed_.assign(stages, 0);
    received_.assign(stages, 0);
    sends_.resize(stages);
    sent_.assign(stages, 0);
    receives_.resize(stages);
    for (std::size_t s = 0; s < stages; ++s)
      for (const Turn& t : turns[s])
        if (const Message m = needed(s, t); std::get<2>(m) >= 0) receives_[s].push_back(m);
  }

  bool finish() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < turns_.size(); ++s) moved = advance(s) || moved;
    }
    return std::equal(turns_.begin(), turns_.end(), computed_.begin(),
                      [](const Turns& t, std::size_t done) { return t.size() == done; });
  }

  std::string who_waits() const {
    std::string text;
    for (std::size_t s = 0; s < turns_.size(); ++s) {
      if (computed_[s] == turns_[s].size()) continue;
      const Turn& t = turns_[s][computed_[s]];
      const int from = std::get<2>(needed(s, t));
      text += fmt::format("{}stage {} waits at {}", text.empty() ? "" : ", ", s, to_text(t));
      if (from >= 0) text += fmt::format(" for stage {}", from % shape_.stages);
      if (received_[s] < receives_[s].size() && receives_[s][received_[s]] != needed(s, t))
        text += " behind another transfer";
    }
    return text;
  }

 private:
  int piece(std::size_t stage, const Turn& t) const { return t.chunk * shape_.stages + static_cast<int>(stage); }

  // What a turn needs from another stage; piece -1: nothing.
  Message needed(std::size_t stage, const Turn& t) const {
    const int here = piece(stage, t), last = shape_.stages * shape_.chunks - 1;
    const bool forward = t.kind == TurnKind::forward;
    const int from = forward ? here - 1 : here + 1;
    const bool none = t.kind == TurnKind::weight_gradient || from < 0 || from > last || shape_.stages == 1;
    return {forward, t.micro_batch, none ? -1 : from};
  }

  bool ready(std::size_t stage, const Turn& t) const {
    const Message m = needed(stage, t);
    return std::get<2>(m) < 0 || arrived_.contains(m);
  }

  void send(std::size_t stage, const Turn& t) {
    const int here = piece(stage, t), last = shape_.stages * shape_.chunks - 1;
    const bool forward = t.kind == TurnKind::forward;
    const bool leaves = shape_.stages > 1 && ((forward && here < last) || (is_backward(t.kind) && here > 0));
    if (leaves) sends_[stage].push_back({forward, t.micro_batch, here});
  }

  bool advance(std::size_t s) {
    bool moved = false;
    while (computed_[s] < turns_[s].size() && ready(s, turns_[s][computed_[s]])) {
      send(s, turns_[s][computed_[s]++]);
      moved = true;
    }
    for (; received_[s] < receives_[s].size(); ++received_[s], moved = true) {
      const Message& m = receives_[s][received_[s]];
      const auto from = static_cast<std::size_t>(std::get<2>(m) % shape_.stages);
      if (sent_[from] >= sends_[from].size() || sends_[from][sent_[from]] != m) break;
      ++sent_[from];
      arrived_.insert(m);
    }
    return moved;
  }

  const std::vector<Turns>& turns_;
  const PipelineShape& shape_;
  std::vector<std::size_t> computed_, received_, sent_;  // by stage, how many
  std::vector<std::vector<Message>> sends_, receives_;   // by stage, in order; sends once they are computed
  std::set<Message> arrived_;
};

}  // namespace

std::string to_text(const Turn& t) {
  const char letter = t.kind == TurnKind::forward ? 'F' : t.kind == TurnKind::weight_gradient ? 'W' : 'B';
  return t.chunk == 0 ? fmt::format("{}{}", letter, t.micro_batch)
                      : fmt::format("{}{}.{}", letter, t.micro_batch, t.chunk);
}

Turns read_turns(std::string_view text, std::string& problem) {
  Turns turns;
  std::set<Piece> split;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    Turn turn;
    if (!read_turn(word, turn)) {
      problem = fmt::format("{} is not a turn such as F0, B0, W0 or F0.1", word);
      return {};
    }
    if (turn.kind == TurnKind::weight_gradient) split.insert({turn.micro_batch, turn.chunk});
    turns.push_back(turn);
  }
  for (Turn& t : turns)
    if (t.kind == TurnKind::backward && split.contains({t.micro_batch, t.chunk})) t.kind = TurnKind::input_gradient;
  return turns;
}

std::string check_complete(const std::vector<Turns>& by_stage, const PipelineShape& shape) {
  if (by_stage.size() != static_cast<std::size_t>(shape.stages))
    return fmt::format("has {} lists of turns for {} stages", by_stage.size(), shape.stages);
  for (std::size_t s = 0; s < by_stage.size(); ++s) {
    std::map<Piece, int> state;  // 1: forward done, 2: input gradient done, 3: all done
    for (const Turn& t : by_stage[s]) {
      if (t.micro_batch >= shape.micro_batches)
        return fmt::format("{} of stage {}: there are {} micro-batches, counted from 0", to_text(t), s,
                           shape.micro_batches);
      if (t.chunk >= shape.chunks)
        return fmt::format("{} of stage {}: a stage has {} chunks, counted from 0", to_text(t), s, shape.chunks);
      int& done = state[{t.micro_batch, t.chunk}];
      constexpr int before[] = {0, 1, 1, 2}, after[] = {1, 3, 2, 3};
      if (done != before[static_cast<std::size_t>(t.kind)])
        return fmt::format("{} of stage {} comes too early or twice", to_text(t), s);
      done = after[static_cast<std::size_t>(t.kind)];
    }
    for (int m = 0; m < shape.micro_batches; ++m)
      for (int c = 0; c < shape.chunks; ++c)
        if (state[{m, c}] != 3)
          return fmt::format("stage {} lacks {}", s,
                             to_text(Turn{state[{m, c}] == 0 ? TurnKind::forward : TurnKind::backward, m, c}));
  }
  return "";
}

std::string check_progress(const std::vector<Turns>& by_stage, const PipelineShape& shape) {
  Progress progress(by_stage, shape);
  return progress.finish() ? "" : progress.who_waits();
}

}  // namespace trainwire
