#include "backend/cpu/arena.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace trainwire::cpu {
namespace {

constexpr std::size_t alignment = 64;  // bytes: a cache line, and what AVX-512 loads want

}  // namespace

Arena::Arena(const Program& program, const Coordinates& at)
    : layout_(lay_out(
          program, alignment, [](DType) { return sizeof(float); }, at)) {
  base_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, layout_.bytes)));
  if (base_ == nullptr) throw std::bad_alloc();
  std::fill_n(base_.get(), layout_.bytes, std::byte{0});
}

void Arena::Free::operator()(std::byte* p) const { std::free(p); }

}  // namespace trainwire::cpu
