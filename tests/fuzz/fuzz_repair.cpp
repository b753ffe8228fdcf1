// A damaged frame of arbitrary bytes. Planning its repair must end, and must trust none of its
// fields.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "frame/repair/losses.hpp"
#include "frame/repair/open_damaged.hpp"
#include "tests/fuzz/memory_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloscfs::frame;
  const RepairPlan plan = plan_repair(std::make_shared<fuzz::MemorySource>(Bytes(data, size)));
  if (!plan.found_anything) return 0;
  const LossSummary sum = sum_losses(plan);
  if (sum.intact < 0 || sum.lost < 0 || sum.intact > sum.contents) std::abort();
  return 0;
}
