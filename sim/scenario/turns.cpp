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

// The turns of all stages under way. A stage sends and receives one message at a time.
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
      for (std::size_t t = 0; t < turns[s].size(); ++t)
        if (const Message m = needed(s, turns[s][t]); std::get<2>(m) >= 0 && sender(m) != s)
          receives_[s].push_back({m, t});
  }

  // Round by round, one turn a stage.
  bool finish() {
    for (bool moved = true; moved;) {
      transfer();
      for (std::size_t s = 0; s < turns_.size(); ++s) unblock(s);
      std::vector<std::size_t> ready;
      for (std::size_t s = 0; s < turns_.size(); ++s)
        if (computed_[s] < turns_[s].size() && has_all(s)) ready.push_back(s);
      for (const std::size_t s : ready) send(s, turns_[s][computed_[s]++]);
      moved = !ready.empty();
    }
    return std::equal(turns_.begin(), turns_.end(), computed_.begin(),
                      [](const Turns& t, std::size_t done) { return t.size() == done; });
  }

  std::vector<std::vector<std::size_t>> receives() const {
    std::vector<std::vector<std::size_t>> order(receives_.size());
    for (std::size_t s = 0; s < order.size(); ++s)
      for (const Receive& r : receives_[s]) order[s].push_back(r.turn);
    return order;
  }

  std::string who_waits() const {
    std::string text;
    for (std::size_t s = 0; s < turns_.size(); ++s) {
      if (computed_[s] == turns_[s].size()) continue;
      const Turn& t = turns_[s][computed_[s]];
      const int from = std::get<2>(needed(s, t));
      text += fmt::format("{}stage {} waits at {}", text.empty() ? "" : ", ", s, to_text(t));
      if (from >= 0) text += fmt::format(" for stage {}", shape_.stage_of(from));
    }
    return text;
  }

 private:
  int piece(std::size_t stage, const Turn& t) const { return shape_.piece_of(static_cast<int>(stage), t.chunk); }
  std::size_t sender(const Message& m) const { return static_cast<std::size_t>(shape_.stage_of(std::get<2>(m))); }

  // What a turn needs of another piece; piece -1: nothing.
  Message needed(std::size_t stage, const Turn& t) const {
    const int here = piece(stage, t), last = shape_.pieces() - 1;
    const bool forward = t.kind == TurnKind::forward;
    const int from = forward ? here - 1 : here + 1;
    const bool none = t.kind == TurnKind::weight_gradient || from < 0 || from > last || shape_.stages == 1;
    return {forward, t.micro_batch, none ? -1 : from};
  }

  // What the next turn of a stage needs is there.
  bool has_all(std::size_t s) const {
    const Message m = needed(s, turns_[s][computed_[s]]);
    return std::get<2>(m) < 0 || arrived_.contains(m);
  }

  void send(std::size_t stage, const Turn& t) {
    const int here = piece(stage, t), last = shape_.pieces() - 1;
    const bool forward = t.kind == TurnKind::forward;
    const bool leaves = shape_.stages > 1 && ((forward && here < last) || (is_backward(t.kind) && here > 0));
    if (!leaves) return;
    const Message m{forward, t.micro_batch, here};
    if (shape_.stage_of(forward ? here + 1 : here - 1) == static_cast<int>(stage))
      arrived_.insert(m);
    else
      sends_[stage].push_back(m);
  }

  void transfer() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < turns_.size(); ++s)
        for (; received_[s] < receives_[s].size(); ++received_[s], moved = true) {
          const Message& m = receives_[s][received_[s]].message;
          const std::size_t from = sender(m);
          if (sent_[from] >= sends_[from].size() || sends_[from][sent_[from]] != m) break;
          ++sent_[from];
          arrived_.insert(m);
        }
    }
  }

  // A stage waits for a message that is made but stands behind others: what those are received after comes later.
  void unblock(std::size_t s) {
    if (computed_[s] == turns_[s].size() || has_all(s)) return;
    const Message wanted = needed(s, turns_[s][computed_[s]]);
    const std::size_t from = sender(wanted);
    const auto& made = sends_[from];
    const auto first = made.begin() + static_cast<std::ptrdiff_t>(sent_[from]);
    if (std::find(first, made.end(), wanted) == made.end()) return;
    while (!arrived_.contains(wanted)) {
      const Message head = made[sent_[from]];
      const auto& [forward, micro_batch, piece] = head;
      const auto to = static_cast<std::size_t>(shape_.stage_of(forward ? piece + 1 : piece - 1));
      const auto next = receives_[to].begin() + static_cast<std::ptrdiff_t>(received_[to]);
      const auto found = std::find_if(next, receives_[to].end(), [&](const Receive& r) { return r.message == head; });
      if (found == receives_[to].end()) return;  // nobody wants it: check_complete says so
      std::rotate(next, found, found + 1);
      transfer();
    }
  }

  struct Receive {
    Message message;
    std::size_t turn;
  };
  const std::vector<Turns>& turns_;
  const PipelineShape& shape_;
  std::vector<std::size_t> computed_, received_, sent_;  // by stage, how many
  std::vector<std::vector<Message>> sends_;              // by stage, in order, once they are computed
  std::vector<std::vector<Receive>> receives_;           // by stage, in order
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

std::vector<std::vector<std::size_t>> receive_order(const std::vector<Turns>& by_stage, const PipelineShape& shape) {
  Progress progress(by_stage, shape);
  progress.finish();
  return progress.receives();
}

}  // namespace trainwire
