#include "tests/remote/object_mount.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "tests/remote/mounted.hpp"
#include "tests/remote/rgw.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"

namespace bloscfs::test {
namespace {

std::vector<std::string> with_common(std::vector<std::string> options,
                                     const std::string& endpoint) {
  options.insert(options.begin(), {"rw", "create", "endpoint=" + endpoint});
  return options;
}

}  // namespace

StorePlace::StorePlace() : bucket_(new_bucket()) {
  frame::S3Address address(bucket_, shared_rgw().endpoint(), "us-east-1", false);
  auto bucket = std::make_unique<frame::S3Bucket>(std::move(address), shared_rgw().client(),
                                                  std::chrono::seconds(20));
  tree_ = std::make_shared<frame::S3Tree>(std::move(bucket), prefix_ + "/", true, true);
  tree_->list("");  // uses up the first page, which the constructor fetched and keeps for list()
}

std::vector<std::string> StorePlace::environment() const {
  return {std::string("AWS_ACCESS_KEY_ID=") + Rgw::kAccessKey,
          std::string("AWS_SECRET_ACCESS_KEY=") + Rgw::kSecretKey};
}

MountSettings StorePlace::settings(const std::vector<std::string>& options,
                                   const std::string& endpoint) const {
  MountSettings settings;
  settings.options = with_common(options, endpoint.empty() ? shared_rgw().endpoint() : endpoint);
  settings.environment = environment();
  return settings;
}

void StorePlace::add_objects(const std::string& directory,
                             std::map<std::string, frame::ListedState>& found) const {
  std::vector<frame::ObjectEntry> entries;
  try {
    entries = tree_->list(directory);
  } catch (const std::system_error& error) {
    // A host removes the chunks of a removed file later, possibly during this listing.
    if (error.code() != std::errc::no_such_file_or_directory) throw;
  }
  for (const frame::ObjectEntry& entry : entries) {
    const std::string path = directory.empty() ? entry.name : directory + "/" + entry.name;
    if (entry.is_directory)
      add_objects(path, found);
    else
      found[path] = entry.state.value();
  }
}

std::map<std::string, frame::ListedState> StorePlace::objects() const {
  std::map<std::string, frame::ListedState> found;
  add_objects("", found);
  return found;
}

frame::ObjectState StorePlace::state(const std::string& path) const {
  return tree_->open(path, nullptr)->state();
}

std::string StorePlace::contents(const std::string& path) const {
  const auto source = tree_->open(path, nullptr);
  ByteVector bytes(source->state().size);
  source->read_exactly_at(0, bytes, "object");
  return {bytes.begin(), bytes.end()};
}

void StorePlace::upload(const fs_std::path& from) const {
  for (const auto& entry : fs_std::recursive_directory_iterator(from))
    if (entry.is_regular_file())
      tree_->put(fs_std::relative(entry.path(), from).string(), read_file(entry.path()), {}, {});
}

void StorePlace::download(const fs_std::path& to) const {
  for (const auto& [path, state] : objects()) {
    fs_std::create_directories((to / path).parent_path());
    write_file(to / path, std::string_view(contents(path)));
  }
}

ObjectMount::ObjectMount(const StorePlace& place, const std::vector<std::string>& options,
                         const std::string& endpoint)
    : Mount(place.source(), place.settings(options, endpoint)) {}

int errno_of_writing(const fs_std::path& path, std::int64_t offset, std::string_view text,
                     int flags, bool syncs) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
  if (fd < 0) return errno;
  int error = 0;
  const auto note = [&](bool ok) {
    if (!ok && error == 0) error = errno;
  };
  for (std::size_t done = 0; done < text.size() && error == 0;) {
    const ssize_t written = ::pwrite(fd, text.data() + done, text.size() - done,
                                     offset + static_cast<std::int64_t>(done));
    note(written > 0);
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  if (syncs) note(::fsync(fd) == 0);
  note(::close(fd) == 0);
  return error;
}

int errno_of_syncing(const fs_std::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd && ::fsync(fd.get()) == 0 ? 0 : errno;
}

std::string file_text(const fs_std::path& path) { return text_of(read_file(path)); }

std::string noise(std::uint64_t seed, std::size_t size) {
  return text_of(make_contents("noise", seed, size, 1));
}

std::vector<std::string> conflicts_in(const fs_std::path& directory) {
  std::vector<std::string> found = names_in(directory);
  std::erase_if(
      found, [](const std::string& name) { return name.find(".conflict-") == std::string::npos; });
  return found;
}

}  // namespace bloscfs::test
