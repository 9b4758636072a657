// The memory of one rank on a CPU.
#pragma once
#include <memory>

#include "backend/common/layout.h"

namespace trainwire::cpu {

class Arena {
 public:
  explicit Arena(const Program& program, const Coordinates& at = {});

  // Everything is stored as 4-byte elements: fp32 or int32.
  void* at(BufferId b) const { return base_.get() + layout_.offset[static_cast<std::size_t>(b)]; }
  float* reals(BufferId b) const { return static_cast<float*>(at(b)); }
  std::size_t bytes() const { return layout_.bytes; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  Layout layout_;
  std::unique_ptr<std::byte[], Free> base_;
};

}  // namespace trainwire::cpu
