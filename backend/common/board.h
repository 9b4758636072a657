// Where each rank is, for the time after it died: a rank notes its operation in a file that it shares with the process
// that started it. Costs one store an operation.
#pragma once
#include <string>

#include "sim/plan/plan.h"

namespace trainwire {

// The rank's side. Does nothing where the run was not started by launch_ranks.
class Board {
 public:
  Board(const Program& program, Rank rank);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  void note(OpId op) {
    if (place_ != nullptr) *place_ = op;
  }

 private:
  volatile OpId* place_ = nullptr;
};

// The launcher's side: a folder, known to the ranks by TRAINWIRE_BOARD, that goes with the object.
class BoardFolder {
 public:
  BoardFolder();
  ~BoardFolder();
  BoardFolder(const BoardFolder&) = delete;
  BoardFolder& operator=(const BoardFolder&) = delete;
  const std::string& path() const { return path_; }
  // "rank 1 was in blocks.0.mlp.fc1 linear forward mb 0", a line a rank that got as far as running.
  std::string last_seen(int world_size) const;

 private:
  std::string path_;
};

}  // namespace trainwire
