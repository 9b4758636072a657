// Where the buffers of one rank lie in one block of memory. Parameters, gradients, optimizer state and inputs keep
// their place; what belongs to one micro-batch shares memory with whatever is not alive at the same time.
#pragma once
#include <functional>
#include <vector>

#include "backend/common/shard.h"
#include "sim/plan/plan.h"

namespace trainwire {

// When a buffer is in use, in points of the compute stream's order: operation i of that stream runs at 2i+1, what runs
// between two of them at 2i+2. Two buffers whose intervals do not meet can share memory whatever the other streams do.
struct Lifetime {
  std::int64_t first = INT64_MAX, last = -1;
};
std::vector<Lifetime> lifetimes(const Program& program);

struct Layout {
  std::vector<std::size_t> offset;  // bytes, by buffer
  std::size_t bytes = 0;            // of the block: the peak
};

// Places are multiples of `alignment` bytes, except those of views inside their tensor; shards of a flat tensor that are
// views lie where the rank's coordinates say.
using ElementBytes = std::function<std::size_t(DType)>;
Layout lay_out(const Program& program, std::size_t alignment, const ElementBytes& element_bytes,
               const Coordinates& at = {});

}  // namespace trainwire
