#include "tests/model/chooser.hpp"

#include <algorithm>

#include "tests/support/contents.hpp"

namespace bloscfs::test {

namespace {

constexpr std::int64_t kBoundary = 16384;
constexpr int kTries = 8;

}  // namespace

Chooser::Chooser(std::uint64_t seed, NamePool names, const OperationKinds& kinds, const Side& model)
    : random_(seed), names_(std::move(names)), model_(model) {
  for (const auto& kind : kinds)
    lots_.insert(lots_.end(), static_cast<std::size_t>(kind.weight), &kind);
}

Operation Chooser::next() {
  for (;;) {
    Operation operation;
    operation.kind = lots_[below(lots_.size())];
    if (operation.kind->choose(*this, operation)) return operation;
  }
}

bool Chooser::exists(const std::string& name) const {
  struct stat st {};
  return lstat((model_ / name).c_str(), &st) == 0;
}

const std::string& Chooser::existing_path() {
  for (int i = 0; i < kTries; ++i)
    if (const auto& name = path(); exists(name)) return name;
  return path();
}

const std::string& Chooser::existing_file() {
  for (int i = 0; i < kTries; ++i)
    if (const auto& name = file(); exists(name)) return name;
  return file();
}

bool Chooser::has_links(const std::string& path) const {
  struct stat st {};
  return stat((model_ / path).c_str(), &st) == 0 && st.st_nlink > 1;
}

bool Chooser::open_slot(std::size_t& slot) {
  const std::size_t first = below(kSlots);
  for (std::size_t i = 0; i < kSlots; ++i) {
    slot = (first + i) % kSlots;
    if (model_.files[slot].fd) return true;
  }
  return false;
}

bool Chooser::open_mapping(std::size_t& slot) {
  const std::size_t first = below(kMappings);
  for (std::size_t i = 0; i < kMappings; ++i) {
    slot = (first + i) % kMappings;
    if (model_.mappings[slot]) return true;
  }
  return false;
}

std::int64_t Chooser::offset(std::int64_t file_size) {
  const auto any = [this](std::int64_t limit) {
    return static_cast<std::int64_t>(
        below(static_cast<std::uint64_t>(std::max<std::int64_t>(limit, 1))));
  };
  switch (below(10)) {
    case 0:
      return 0;
    case 1:
      return file_size;
    case 2:
      return any(kMaxFileSize * 2 / 3);
    case 3:
    case 4:
    case 5: {
      const std::int64_t boundary = any(file_size / kBoundary + 2) * kBoundary;
      return std::max<std::int64_t>(boundary + any(7) - 3, 0);
    }
    default:
      return any(file_size + 1);
  }
}

std::int64_t Chooser::length() {
  const auto lot = below(100);
  if (lot < 4) return 0;
  if (lot < 45) return static_cast<std::int64_t>(1 + below(512));
  if (lot < 60)
    return static_cast<std::int64_t>(kBoundary * static_cast<std::int64_t>(1 + below(4)));
  if (lot < 92) return static_cast<std::int64_t>(1 + below(40000));
  return static_cast<std::int64_t>(1 + below(300000));
}

ByteVector Chooser::bytes(std::size_t size) {
  static const char* const kKinds[] = {"noise", "ramp", "zeros", "constant", "text", "islands"};
  return make_contents(kKinds[below(std::size(kKinds))], seed(), size, chance(50) ? 1 : 8);
}

std::int64_t Chooser::size_of(std::size_t slot) const {
  struct stat st {};
  if (fstat(model_.files[slot].fd.get(), &st) != 0) throw_errno("fstat");
  return st.st_size;
}

timespec Chooser::past_time() {
  return {static_cast<time_t>(1'000'000'000 + below(600'000'000)),
          static_cast<long>(below(1'000'000'000))};
}

}  // namespace bloscfs::test
