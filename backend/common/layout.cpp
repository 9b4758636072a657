#include "backend/common/layout.h"

#include <algorithm>
#include <array>
#include <map>

namespace trainwire {
namespace {

constexpr std::int64_t end_of_step = INT64_MAX;

bool transient(const Program& program, BufferId b) {
  return program.buffers[static_cast<std::size_t>(b)].micro_batch >= 0 && program.tensor(b).category != Category::input;
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

namespace {

// The tensor whose memory this one lies in, and where, in elements: views lie in the tensor they belong to.
struct Place {
  TensorId root;
  std::int64_t offset;
};
Place place_of(const Program& program, TensorId id, const Coordinates& at) {
  Place place{id, 0};
  for (;;) {
    const Tensor& t = program.tensors[static_cast<std::size_t>(place.root)];
    if (t.view_of < 0) return place;
    place.offset += t.offset + (t.flat >= 0 ? first_of_shard(t, at) : 0);
    place.root = t.view_of;
  }
}

// The buffers of one root tensor and micro-batch.
struct Block {
  std::vector<std::pair<BufferId, std::int64_t>> parts;  // and where they begin, in elements
  const Tensor* root = nullptr;
  std::size_t size = 0, offset = 0;
  Lifetime life;
  bool passes = false;
};

std::vector<Block> blocks_of(const Program& program, const Coordinates& at) {
  const std::vector<Lifetime> life = lifetimes(program);
  std::map<std::pair<TensorId, std::int32_t>, std::size_t> known;
  std::vector<Block> blocks;
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const Place place = place_of(program, program.buffers[b].tensor, at);
    const auto [block, fresh] = known.try_emplace({place.root, program.buffers[b].micro_batch}, blocks.size());
    if (fresh) {
      blocks.emplace_back();
      blocks.back().root = &program.tensors[static_cast<std::size_t>(place.root)];
      blocks.back().passes = transient(program, static_cast<BufferId>(b));
    }
    Block& into = blocks[block->second];
    into.parts.emplace_back(static_cast<BufferId>(b), place.offset);
    into.life.first = std::min(into.life.first, life[b].first);
    into.life.last = std::max(into.life.last, life[b].last);
  }
  return blocks;
}

}  // namespace

Layout lay_out(const Program& program, std::size_t alignment, const ElementBytes& element_bytes,
               const Coordinates& at) {
  Heap heap;
  std::vector<Block> blocks = blocks_of(program, at);
  std::vector<Block*> passing;
  for (Block& block : blocks) {
    const std::size_t bytes = static_cast<std::size_t>(block.root->storage()) * element_bytes(block.root->dtype);
    block.size = (bytes + alignment - 1) / alignment * alignment;
    if (!block.passes) block.offset = heap.take(block.size);
    if (block.passes && block.life.last >= 0) passing.push_back(&block);
  }
  // In order of first use; what has ended before gives its place back.
  std::stable_sort(passing.begin(), passing.end(),
                   [](const Block* x, const Block* y) { return x->life.first < y->life.first; });
  std::multimap<std::int64_t, const Block*> alive;  // by last use
  for (Block* block : passing) {
    while (!alive.empty() && alive.begin()->first < block->life.first) {
      heap.give(alive.begin()->second->offset, alive.begin()->second->size);
      alive.erase(alive.begin());
    }
    block->offset = heap.take(block->size);
    alive.emplace(block->life.last, block);
  }
  Layout layout;
  layout.offset.resize(program.buffers.size());
  for (const Block& block : blocks)
    for (const auto& [buffer, offset] : block.parts)
      layout.offset[static_cast<std::size_t>(buffer)] =
          block.offset + static_cast<std::size_t>(offset) * element_bytes(block.root->dtype);
  layout.bytes = std::max(heap.end(), alignment);
  return layout;
}

}  // namespace trainwire
