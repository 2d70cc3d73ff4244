#include "cli/heap.hpp"

#include <cstdlib>  // defines __GLIBC__

namespace vx::cli {
bool process_ends_cheaper() noexcept {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}
}  // namespace vx::cli

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace vx::cli {

void prepare_heap() noexcept {
  constexpr std::size_t k_first = std::size_t{48} << 20, k_huge = std::size_t{2} << 20;
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, static_cast<int>(k_first * 2));
  ::mallopt(M_TRIM_THRESHOLD, static_cast<int>(k_first * 4));
  ::mallopt(M_TOP_PAD, static_cast<int>(std::size_t{4} << 20));
  // Grown once and given back to the allocator, not to the system: what follows is carved out of it.
  void* block = std::malloc(k_first);
  if (block == nullptr) return;
  const std::uintptr_t from = (reinterpret_cast<std::uintptr_t>(block) + k_huge - 1) & ~(k_huge - 1);
  const std::uintptr_t to = (reinterpret_cast<std::uintptr_t>(block) + k_first) & ~(k_huge - 1);
  if (to > from) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
  std::free(block);
}

}  // namespace vx::cli

#else

namespace vx::cli {
void prepare_heap() noexcept {}
}  // namespace vx::cli

#endif
