#include "tests/fs/mount/random_files.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/core.h>

namespace bloscfs::test {
namespace {

constexpr std::uint64_t kNames = 6;
constexpr std::size_t kMostOpen = 3;
/// More than some chunks of the smallest size.
constexpr std::uint64_t kLongest = 600'000;

}  // namespace

std::string RandomFiles::any_name() {
  const auto number = below(kNames);
  return fmt::format("{}f{}", number % 2 == 0 ? "" : "d/", number);
}

std::optional<std::string> RandomFiles::known_name() {
  if (files_.empty()) return std::nullopt;
  return std::next(files_.begin(), static_cast<std::ptrdiff_t>(below(files_.size())))->first;
}

ByteVector RandomFiles::any_bytes() {
  // Most changes are small; one in eight may be long.
  ByteVector bytes(below(8) == 0 ? below(kLongest) : below(5'000));
  const auto step = random_();
  for (std::size_t i = 0; i < bytes.size(); i++)
    bytes[i] = static_cast<std::uint8_t>((i * step) >> 13);
  return bytes;
}

std::int64_t RandomFiles::any_offset(const ByteVector& contents) {
  return static_cast<std::int64_t>(below(contents.size() + 1 + below(4) / 3 * 100'000));
}

void RandomFiles::write_to(const InProcess::File& file, ByteVector& contents) {
  const ByteVector bytes = any_bytes();
  const std::int64_t offset = any_offset(contents);
  file.write(offset, bytes);
  if (!bytes.empty()) contents = with_bytes(contents, static_cast<std::size_t>(offset), bytes);
}

void RandomFiles::open_one(InProcess& mount) {
  const std::string name = any_name();
  last_ = "open " + name;
  Contents& contents = files_[name];
  const bool is_new = !contents;
  if (is_new) contents = std::make_shared<ByteVector>();
  open_.push_back({is_new ? mount.create(name) : mount.open(name), contents});
  if (open_.size() > kMostOpen) open_.pop_front();
}

void RandomFiles::use_open_one() {
  if (open_.empty()) return;
  Open& one = *std::next(open_.begin(), static_cast<std::ptrdiff_t>(below(open_.size())));
  ByteVector& contents = *one.contents;
  switch (below(4)) {
    case 0:
      last_ = "truncate";
      contents.resize(below(contents.size() + 10'000));
      return one.file.truncate(static_cast<std::int64_t>(contents.size()));
    case 1:
      last_ = "fsync";
      return one.file.sync();
    case 2:
      last_ = "read";
      BOOST_TEST((one.file.contents() == contents));
      return;
    default:
      last_ = "write";
      write_to(one.file, contents);
  }
}

void RandomFiles::rename_one(InProcess& mount) {
  const auto from = known_name();
  const std::string to = any_name();
  if (!from || *from == to) return;
  last_ = "rename " + *from + " " + to;
  if (renames_ == Renames::of_closed_files)
    open_.remove_if([&](const Open& one) { return one.contents == files_[*from]; });
  const int error = error_of([&] { mount.rename(*from, to); });
  // A mount of objects refuses to give a name back while readers may still need its old chunks.
  BOOST_TEST((error == 0 || error == EXDEV), "errno " << error);
  if (error == 0) files_[to] = std::exchange(files_[*from], nullptr);
  std::erase_if(files_, [](const auto& one) { return !one.second; });
}

void RandomFiles::step(InProcess& mount) {
  switch (below(10)) {
    case 0:
      return rename_one(mount);
    case 1:
      if (const auto name = known_name()) {
        last_ = "remove " + *name;
        mount.remove(*name);
        files_.erase(*name);
      }
      return;
    case 2: {
      const std::string name = any_name();
      last_ = "replace " + name;
      const ByteVector bytes = any_bytes();
      mount.write(name, bytes);
      Contents& contents = files_[name];
      if (!contents) contents = std::make_shared<ByteVector>();
      *contents = bytes;
      return;
    }
    case 3:
      last_ = "commit";
      return mount->commit_written();
    case 4:
    case 5:
      return open_one(mount);
    default:
      return use_open_one();
  }
}

void RandomFiles::compare(InProcess& mount) const {
  Names expected;
  for (const auto& [name, contents] : files_) {
    expected.push_back(name);
    BOOST_TEST(mount.stat(name).st_size == std::ssize(*contents), name);
    BOOST_TEST((mount.read(name) == *contents), name);
  }
  Names found = mount.names();
  std::erase(found, "d");
  for (const std::string& name : mount.names("d")) found.push_back("d/" + name);
  std::sort(found.begin(), found.end());
  BOOST_TEST(found == expected, boost::test_tools::per_element());
}

}  // namespace bloscfs::test
