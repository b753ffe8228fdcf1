#include "frame/remote/answer_memory.hpp"

#include <utility>

namespace bloscfs::frame::inline remote {

std::error_code AnswerMemory::take(std::size_t bytes, std::string& why) noexcept {
  const std::lock_guard guard(mutex_);
  if (charge_ == nullptr) return std::make_error_code(std::errc::operation_canceled);
  try {
    charge_->take(bytes);
  } catch (const std::system_error& error) {
    try {
      why = error.what();
    } catch (const std::bad_alloc&) {
    }
    return error.code();
  } catch (...) {
    return std::make_error_code(std::errc::not_enough_memory);
  }
  taken_ += bytes;
  return {};
}

void AnswerMemory::give_back(std::size_t bytes) noexcept {
  const std::lock_guard guard(mutex_);
  if (charge_ == nullptr) return;
  charge_->give_back(bytes);
  taken_ -= bytes;
}

void AnswerMemory::close() noexcept {
  const std::lock_guard guard(mutex_);
  if (MemoryCharge* const charge = std::exchange(charge_, nullptr)) charge->give_back(taken_);
}

}  // namespace bloscfs::frame::inline remote
