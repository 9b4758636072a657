#include "backend/common/layout.h"

#include <algorithm>
#include <array>
#include <map>

namespace trainwire {
namespace {

constexpr std::int64_t end_of_step = INT64_MAX;

bool transient(const Program& program, BufferId b) {
  const Category c = program.tensor(b).category;
  return program.buffers[static_cast<std::size_t>(b)].micro_batch >= 0 &&
         (c == Category::activation || c == Category::workspace);
}

// For each operation the points between which it is certain to run.
std::vector<Lifetime> moments(const Program& program) {
  std::vector<Lifetime> result(program.ops.size());
  std::int64_t computed = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i)
    if (program.ops[i].stream == Stream::compute) {
      result[i].first = result[i].last = 2 * computed + 1;
      ++computed;
    }
  // Not before the compute operations that it, or one before it on its stream, waits for.
  std::array<std::int64_t, stream_count> started{};
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.stream == Stream::compute) continue;
    std::int64_t& point = started[static_cast<std::size_t>(op.stream)];
    for (const OpId d : program.waits_for(op)) {
      const Lifetime& other = result[static_cast<std::size_t>(d)];
      const bool compute = program.ops[static_cast<std::size_t>(d)].stream == Stream::compute;
      point = std::max(point, compute ? other.last + 1 : other.first);
    }
    result[i].first = point;
    result[i].last = end_of_step;
  }
  // Done before the first compute operation that waits for it, or for one after it on its stream.
  std::array<std::int64_t, stream_count> done;
  done.fill(end_of_step);
  std::vector<std::int64_t> awaited(program.ops.size(), end_of_step);
  for (std::size_t i = program.ops.size(); i-- > 0;) {
    const Op& op = program.ops[i];
    if (op.stream != Stream::compute) {
      std::int64_t& point = done[static_cast<std::size_t>(op.stream)];
      point = std::min(point, awaited[i]);
      result[i].last = point;
    }
    for (const OpId d : program.waits_for(op)) {
      std::int64_t& point = awaited[static_cast<std::size_t>(d)];
      point = std::min(point, op.stream == Stream::compute ? result[i].first - 1 : result[i].last);
    }
  }
  return result;
}

// Memory by address: takes the smallest hole that fits, else grows.
class Heap {
 public:
  std::size_t take(std::size_t size) {
    auto best = holes_.end();
    for (auto h = holes_.begin(); h != holes_.end(); ++h)
      if (h->second >= size && (best == holes_.end() || h->second < best->second)) best = h;
    if (best == holes_.end()) {
      const std::size_t offset = end_;
      end_ += size;
      return offset;
    }
    const auto [offset, room] = *best;
    holes_.erase(best);
    if (room > size) holes_[offset + size] = room - size;
    return offset;
  }
  void give(std::size_t offset, std::size_t size) {
    auto next = holes_.lower_bound(offset);
    if (next != holes_.end() && offset + size == next->first) {
      size += next->second;
      next = holes_.erase(next);
    }
    if (next != holes_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += size;
        return;
      }
    }
    holes_[offset] = size;
  }
  std::size_t end() const { return end_; }

 private:
  std::map<std::size_t, std::size_t> holes_;  // size by offset
  std::size_t end_ = 0;
};

}  // namespace

std::vector<Lifetime> lifetimes(const Program& program) {
  const std::vector<Lifetime> when = moments(program);
  std::vector<Lifetime> result(program.buffers.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto touch = [&](BufferId b) {
      Lifetime& l = result[static_cast<std::size_t>(b)];
      l.first = std::min(l.first, when[i].first);
      l.last = std::max(l.last, when[i].last);
    };
    for (const BufferId b : program.inputs(program.ops[i])) touch(b);
    for (const BufferId b : program.outputs(program.ops[i])) touch(b);
  }
  return result;
}

Layout lay_out(const Program& program, std::size_t alignment, const ElementBytes& element_bytes) {
  Layout layout;
  layout.offset.resize(program.buffers.size());
  const auto size_of = [&](const Tensor& t) {
    const std::size_t bytes = static_cast<std::size_t>(t.storage()) * element_bytes(t.dtype);
    return (bytes + alignment - 1) / alignment * alignment;
  };
  const std::vector<Lifetime> life = lifetimes(program);
  Heap heap;
  // Views lie in the buffer of the tensor they belong to, whether or not the program names that buffer.
  std::map<std::pair<TensorId, std::int32_t>, std::size_t> roots;
  std::vector<bool> viewed(program.tensors.size());
  for (const Tensor& t : program.tensors)
    if (t.view_of >= 0) viewed[static_cast<std::size_t>(t.view_of)] = true;
  std::vector<BufferId> passing;
  for (std::size_t b = 0; b < layout.offset.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    TensorId root = buffer.tensor;
    std::int64_t offset = 0;
    while (program.tensors[static_cast<std::size_t>(root)].view_of >= 0) {
      offset += program.tensors[static_cast<std::size_t>(root)].offset;
      root = program.tensors[static_cast<std::size_t>(root)].view_of;
    }
    if (root == buffer.tensor && !viewed[static_cast<std::size_t>(root)] &&
        transient(program, static_cast<BufferId>(b))) {
      if (life[b].last >= 0) passing.push_back(static_cast<BufferId>(b));
      continue;
    }
    const auto [place, fresh] = roots.try_emplace({root, buffer.micro_batch}, 0);
    if (fresh) place->second = heap.take(size_of(program.tensors[static_cast<std::size_t>(root)]));
    layout.offset[b] = place->second + static_cast<std::size_t>(offset) *
                                           element_bytes(program.tensors[static_cast<std::size_t>(root)].dtype);
  }
  // In order of first use; what has ended before gives its place back.
  std::stable_sort(passing.begin(), passing.end(), [&](BufferId x, BufferId y) {
    return life[static_cast<std::size_t>(x)].first < life[static_cast<std::size_t>(y)].first;
  });
  std::multimap<std::int64_t, BufferId> alive;  // by last use
  for (const BufferId b : passing) {
    while (!alive.empty() && alive.begin()->first < life[static_cast<std::size_t>(b)].first) {
      const BufferId ended = alive.begin()->second;
      heap.give(layout.offset[static_cast<std::size_t>(ended)], size_of(program.tensor(ended)));
      alive.erase(alive.begin());
    }
    layout.offset[static_cast<std::size_t>(b)] = heap.take(size_of(program.tensor(b)));
    alive.emplace(life[static_cast<std::size_t>(b)].last, b);
  }
  layout.bytes = std::max(heap.end(), alignment);
  return layout;
}

}  // namespace trainwire
