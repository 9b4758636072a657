// The memory of one rank: every buffer of its program gets a place. Parameters, gradients, optimizer state and inputs
// keep theirs; what belongs to one micro-batch shares memory with whatever is not alive at the same time.
#pragma once
#include <memory>
#include <vector>

#include "sim/plan/plan.h"

namespace trainwire::cpu {

// When a buffer is in use, in points of the compute stream's order: operation i of that stream runs at 2i+1, what runs
// between two of them at 2i+2. Two buffers whose intervals do not meet can share memory whatever the other streams do.
struct Lifetime {
  std::int64_t first = INT64_MAX, last = -1;
};
std::vector<Lifetime> lifetimes(const Program& program);

class Arena {
 public:
  explicit Arena(const Program& program);

  // Everything is stored as 4-byte elements: fp32 or int32.
  void* at(BufferId b) const { return base_.get() + offset_[static_cast<std::size_t>(b)]; }
  float* reals(BufferId b) const { return static_cast<float*>(at(b)); }
  std::int32_t* integers(BufferId b) const { return static_cast<std::int32_t*>(at(b)); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte[], Free> base_;
  std::vector<std::size_t> offset_;  // bytes, by buffer
  std::size_t bytes_ = 0;
};

}  // namespace trainwire::cpu
