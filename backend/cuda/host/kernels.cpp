// The kernels of a GPU as loops on the host.
#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "backend/cuda/host/device.h"
#include "backend/cuda/kernels/table_attention.h"
#include "backend/cuda/kernels/table_elements.h"
#include "backend/cuda/kernels/table_rows.h"
#include "backend/cuda/product.h"

namespace trainwire::cuda {
namespace {

struct alignas(128) Line {
  char bytes[128];
};

// One thread that plays the whole team.
class OneThread {
 public:
  Index rank() const { return 0; }
  Index size() const { return 1; }
  Index lane() const { return 0; }
  Index lanes() const { return 1; }
  Index group() const { return 0; }
  Index groups() const { return 1; }
  void sync() const {}
  template <class A>
  A sum(A x) const {
    return x;
  }
  template <class A>
  A maximum(A x) const {
    return x;
  }
  template <class A>
  A lane_sum(A x) const {
    return x;
  }
  template <class A>
  A lane_maximum(A x) const {
    return x;
  }
  template <class T>
  void multiply(const TileProduct<T>& p) {
    multiply_plainly(*this, p);
  }
  char* shared() { return shared_.data()->bytes; }
  void reserve(Index bytes) { shared_.resize(static_cast<std::size_t>(bytes) / sizeof(Line) + 1); }

 private:
  std::vector<Line> shared_;
};

struct LoopGrid {
  static constexpr bool has_fp64 = true;
  template <class Body>
  void elements(const Body& body, Index count) {
    for (Index i = 0; i < count; ++i) body(i);
  }
  template <class Body>
  void rows(const Body& body, Index count, Index) {
    OneThread team;
    for (Index i = 0; i < count; ++i) body(team, i);
  }
  template <class Body>
  void blocks(const Body& body, Index count, Index shared_bytes) {
    OneThread team;
    team.reserve(shared_bytes);
    for (Index i = 0; i < count; ++i) body(team, i);
  }
};

// Threads that meet at barriers; lanes of one, so that every thread is its own group.
struct Meeting {
  explicit Meeting(int threads) : barrier(threads), values(static_cast<std::size_t>(threads)) {}
  std::barrier<> barrier;
  std::vector<double> values;
  std::vector<Line> shared;
};
class ThreadTeam {
 public:
  ThreadTeam(Meeting& meeting, Index rank) : meeting_(&meeting), rank_(rank) {}
  Index rank() const { return rank_; }
  Index size() const { return static_cast<Index>(meeting_->values.size()); }
  Index lane() const { return 0; }
  Index lanes() const { return 1; }
  Index group() const { return rank_; }
  Index groups() const { return size(); }
  void sync() const { meeting_->barrier.arrive_and_wait(); }
  template <class A>
  A sum(A x) const {
    return combine(x, [](double a, double b) { return a + b; });
  }
  template <class A>
  A maximum(A x) const {
    return combine(x, [](double a, double b) { return larger(a, b); });
  }
  template <class A>
  A lane_sum(A x) const {
    return x;
  }
  template <class A>
  A lane_maximum(A x) const {
    return x;
  }
  template <class T>
  void multiply(const TileProduct<T>& p) {
    multiply_plainly(*this, p);
  }
  char* shared() { return meeting_->shared.data()->bytes; }

 private:
  template <class A, class Combine>
  A combine(A x, const Combine& of_two) const {
    meeting_->values[static_cast<std::size_t>(rank_)] = static_cast<double>(x);
    sync();
    double all = meeting_->values[0];
    for (std::size_t i = 1; i < meeting_->values.size(); ++i) all = of_two(all, meeting_->values[i]);
    sync();
    return static_cast<A>(all);
  }
  Meeting* meeting_;
  Index rank_;
};

struct ThreadGrid {
  static constexpr bool has_fp64 = true;
  int threads;
  template <class Body>
  void elements(const Body& body, Index count) {
    for (Index i = 0; i < count; ++i) body(i);
  }
  template <class Body>
  void rows(const Body& body, Index count, Index) {
    blocks(body, count, 0);
  }
  template <class Body>
  void blocks(const Body& body, Index count, Index shared_bytes) {
    Meeting meeting(threads);
    meeting.shared.resize(static_cast<std::size_t>(shared_bytes) / sizeof(Line) + 1);
    std::vector<std::thread> crew;
    for (int rank = 0; rank < threads; ++rank)
      crew.emplace_back([&, rank] {
        ThreadTeam team(meeting, rank);
        for (Index i = 0; i < count; ++i) {
          body(team, i);
          team.sync();
        }
      });
    for (std::thread& t : crew) t.join();
  }
};

template <class Grid>
void run(Grid grid, const Launch& launch) {
  if (!run_elements(grid, launch) && !run_rows(grid, launch) && !run_attention(grid, launch))
    throw std::logic_error("HostDevice: a kernel that no table knows");
}

template <class T, class R>
void multiply_as(const ColumnMajorProduct& p, const Product& of, Index batch) {
  using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const T* a = static_cast<const T*>(p.a) + batch * p.stride_a;
  const T* b = static_cast<const T*>(p.b) + batch * p.stride_b;
  R* c = static_cast<R*>(of.c) + batch * of.stride_c;
  const T* bias = static_cast<const T*>(of.bias);
  for (Index j = 0; j < p.n; ++j)
    for (Index i = 0; i < p.m; ++i) {
      A sum = 0;
      for (Index l = 0; l < p.k; ++l)
        sum += load(a, p.transpose_a ? i * p.lda + l : l * p.lda + i) *
               load(b, p.transpose_b ? l * p.ldb + j : j * p.ldb + l);
      if (bias != nullptr) sum += load(bias, i);
      if (of.accumulate) sum += static_cast<A>(load(c, j * p.ldc + i));
      store(c, j * p.ldc + i, sum);
    }
}

}  // namespace

void run_on_host(const Launch& launch) { run(LoopGrid{}, launch); }
void run_on_host_threads(const Launch& launch, int threads) { run(ThreadGrid{threads}, launch); }

void multiply_on_host(const Product& product) {
  const ColumnMajorProduct p = column_major(product);
  with_types<LoopGrid>(product.type, product.result, [&](auto t, auto r) {
    for (Index batch = 0; batch < product.batch; ++batch)
      multiply_as<typename decltype(t)::type, typename decltype(r)::type>(p, product, batch);
  });
}

}  // namespace trainwire::cuda
