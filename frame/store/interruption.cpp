#include "frame/store/interruption.hpp"

#include <utility>

namespace bloscfs::frame {
namespace {

thread_local const Interruption* innermost = nullptr;

}  // namespace

Interruption::Interruption(std::function<void()> check, std::function<void()> refuse)
    : check_(std::move(check)),
      refuse_(std::move(refuse)),
      outer_(std::exchange(innermost, this)) {}

Interruption::~Interruption() { innermost = outer_; }

void Interruption::check() {
  if (innermost != nullptr) innermost->check_();
}

void Interruption::before_wait() {
  if (innermost != nullptr && innermost->refuse_) innermost->refuse_();
}

bool Interruption::is_possible() { return innermost != nullptr; }

}  // namespace bloscfs::frame
