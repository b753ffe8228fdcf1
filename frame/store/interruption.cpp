#include "frame/store/interruption.hpp"

#include <utility>

namespace bloscfs::frame {
namespace {

thread_local const Interruption* innermost = nullptr;

}  // namespace

Interruption::Interruption(std::function<void()> check)
    : check_(std::move(check)), outer_(std::exchange(innermost, this)) {}

Interruption::~Interruption() { innermost = outer_; }

void Interruption::check() {
  if (innermost != nullptr) innermost->check_();
}

bool Interruption::is_possible() { return innermost != nullptr; }

}  // namespace bloscfs::frame
