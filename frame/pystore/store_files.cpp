#include "frame/pystore/store_files.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include "codec/error.hpp"
#include "frame/pystore/store_names.hpp"
#include "frame/pystore/zip_member_reader.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline pystore {
namespace {

/// How many bytes wrong_members() reads at once.
constexpr std::size_t kCheckedPiece = std::size_t{1} << 20;

/// Returns the prefix of paths in a directory: empty for the root, otherwise the path with a slash.
std::string prefix_of(const std::string& directory) {
  return directory.empty() ? directory : directory + "/";
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

class ZipFiles final : public StoreFiles {
 public:
  explicit ZipFiles(std::shared_ptr<const ZipDirectory> zip) : zip_(std::move(zip)) {}

  void for_each(const std::string& directory, const Visit& visit) const override {
    const std::string prefix = prefix_of(directory);
    for (std::size_t at = zip_->lower_bound(prefix); has_prefix(at, prefix);) {
      const std::string& name = zip_->members()[at].name;
      const std::size_t slash = name.find('/', prefix.size());
      visit({name.substr(prefix.size(), slash - prefix.size()),
             slash != std::string::npos ? Type::directory : Type::file});
      at = slash == std::string::npos ? at + 1 : zip_->lower_bound(behind(name.substr(0, slash)));
    }
  }

  bool has_directory(const std::string& directory) const override {
    const std::string prefix = prefix_of(directory);
    return has_prefix(zip_->lower_bound(prefix), prefix);
  }

  std::optional<std::string> find(const std::string& stem) const override {
    for (const std::string_view suffix : kLeafSuffixes)
      if (zip_->find(stem + std::string(suffix)) != nullptr) return stem + std::string(suffix);
    const std::string prefix = prefix_of(directory_of(stem));
    for (std::size_t at = zip_->lower_bound(stem); has_prefix(at, stem); ++at) {
      const std::string& path = zip_->members()[at].name;
      const std::string_view name = std::string_view(path).substr(prefix.size());
      if (name.find('/') == std::string_view::npos && !is_no_leaf(name, prefix.empty()) &&
          leaf_stem(name).size() == stem.size() - prefix.size())
        return path;
    }
    return std::nullopt;
  }

  std::shared_ptr<const ByteSource> open(const std::string& path) const override {
    const ZipMember* member = zip_->find(path);
    if (member == nullptr) throw_errno(ENOENT, path);
    return zip_->open(*member);
  }

  std::size_t memory() const override { return zip_->memory(); }
  bool is_complete() const override { return zip_->is_whole(); }
  const LeftOut* left_out() const override { return &zip_->left_out(); }

  std::vector<std::string> wrong_members() const override {
    std::vector<std::string> wrong;
    std::vector<std::uint8_t> piece(kCheckedPiece);
    for (const ZipMember& member : zip_->members()) {
      if (!member.is_stored) continue;  // it cannot be opened, and its leaf says so
      try {
        ZipMemberReader reader(zip_->source(), member);
        while (reader.read(piece) > 0) continue;
      } catch (const codec::Error& error) {
        wrong.push_back(fmt::format("member {}: {}", member.name, error.what()));
      }
    }
    return wrong;
  }

 private:
  bool has_prefix(std::size_t at, const std::string& prefix) const {
    return at < zip_->members().size() && zip_->members()[at].name.starts_with(prefix);
  }
  /// Returns the first name behind everything in a directory. '0' is the byte after '/'.
  static std::string behind(std::string directory) { return std::move(directory) + "0"; }

  const std::shared_ptr<const ZipDirectory> zip_;
};

class DirectoryFiles final : public StoreFiles {
 public:
  DirectoryFiles(UniqueFd directory, SourceCounters* counters)
      : root_(std::move(directory)), counters_(counters) {}

  void for_each(const std::string& directory, const Visit& visit) const override {
    UniqueFd fd(::openat(root_.get(), directory.empty() ? "." : directory.c_str(),
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return;
    if (!fd) throw_errno(directory);
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd.get()), &::closedir);
    if (!stream) throw_errno("fdopendir");
    const int at = fd.release();
    for (errno = 0; const dirent* entry = ::readdir(stream.get()); errno = 0) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") visit({name, type_of(mode_of(at, name))});
    }
    if (errno != 0) throw_errno("readdir");
  }

  bool has_directory(const std::string& directory) const override {
    return directory.empty() || S_ISDIR(mode_of(root_.get(), directory));
  }

  std::optional<std::string> find(const std::string& stem) const override {
    for (const std::string_view suffix : kLeafSuffixes)
      if (S_ISREG(mode_of(root_.get(), stem + std::string(suffix))))
        return stem + std::string(suffix);
    const std::string prefix = prefix_of(directory_of(stem));
    std::optional<std::string> found;
    for_each(directory_of(stem), [&](const Item& item) {
      if (!found && item.type == Type::file && prefix + std::string(leaf_stem(item.name)) == stem &&
          !is_no_leaf(item.name, prefix.empty()))
        found = prefix + item.name;
    });
    return found;
  }

  std::shared_ptr<const ByteSource> open(const std::string& path) const override {
    UniqueFd fd = open_regular_at(root_.get(), path, O_RDONLY);
    if (!fd) throw_errno(ENOENT, path);
    return std::make_shared<FileSource>(std::move(fd), counters_);
  }

  OpenSettings settings(const std::string& path, const OpenSettings& settings) const override {
    OpenSettings named = settings;
    named.name = path;
    named.directory = root_.get();
    return named;
  }

 private:
  /// Returns 0 if there is no such file.
  static mode_t mode_of(int directory, const std::string& path) {
    struct stat st {};
    return ::fstatat(directory, path.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode : 0;
  }

  static Type type_of(mode_t mode) {
    if (S_ISDIR(mode)) return Type::directory;
    return S_ISREG(mode) ? Type::file : Type::other;
  }

  const UniqueFd root_;
  SourceCounters* const counters_;
};

class ObjectFiles final : public StoreFiles {
 public:
  ObjectFiles(std::shared_ptr<ObjectTree> tree, std::string path, ChargePointer charge)
      : tree_(std::move(tree)), path_(std::move(path)), charge_(std::move(charge)) {}

  void for_each(const std::string& directory, const Visit& visit) const override {
    for (const ObjectEntry& entry : entries(directory))
      visit({entry.name, entry.is_directory ? Type::directory : Type::file});
  }

  bool has_directory(const std::string& directory) const override {
    if (directory.empty()) return true;
    const ObjectEntry* const entry = find_entry(directory);
    return entry != nullptr && entry->is_directory;
  }

  std::optional<std::string> find(const std::string& stem) const override {
    for (const std::string_view suffix : kLeafSuffixes) {
      const ObjectEntry* const entry = find_entry(stem + std::string(suffix));
      if (entry != nullptr && !entry->is_directory) return stem + std::string(suffix);
    }
    const std::string prefix = prefix_of(directory_of(stem));
    for (const ObjectEntry& entry : entries(directory_of(stem)))
      if (!entry.is_directory && prefix + std::string(leaf_stem(entry.name)) == stem &&
          !is_no_leaf(entry.name, prefix.empty()))
        return prefix + entry.name;
    return std::nullopt;
  }

  std::shared_ptr<const ByteSource> open(const std::string& path) const override {
    return tree_->open(prefix_of(path_) + path, nullptr);
  }

  std::size_t memory() const override {
    const std::lock_guard guard(mutex_);
    return memory_;
  }

 private:
  using Entries = std::vector<ObjectEntry>;

  /// References to listings stay valid, because no listing is ever removed.
  const Entries& entries(const std::string& directory) const {
    {
      const std::lock_guard guard(mutex_);
      const auto known = listings_.find(directory);
      if (known != listings_.end()) return known->second;
    }
    // Does not ask the server to list a directory that the parent directory lacks.
    Entries found;
    if (has_directory(directory))
      found = tree_->list(directory.empty() ? path_ : prefix_of(path_) + directory, *charge_);
    const std::lock_guard guard(mutex_);
    std::size_t memory = 0;
    for (const ObjectEntry& entry : found) memory += entry.memory();
    const auto [known, is_new] = listings_.emplace(directory, std::move(found));
    // Another thread may have stored a listing of the directory since. Then that listing stays.
    if (is_new)
      memory_ += memory;
    else
      charge_->give_back(memory);
    return known->second;
  }

  const ObjectEntry* find_entry(const std::string& path) const {
    const Entries& all = entries(directory_of(path));
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    const auto found = std::lower_bound(
        all.begin(), all.end(), name,
        [](const ObjectEntry& entry, std::string_view wanted) { return entry.name < wanted; });
    return found != all.end() && found->name == name ? &*found : nullptr;
  }

  const std::shared_ptr<ObjectTree> tree_;
  const std::string path_;
  const ChargePointer charge_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Entries> listings_;
  mutable std::size_t memory_ = 0;
};

}  // namespace

std::unique_ptr<const StoreFiles> make_zip_files(std::shared_ptr<const ZipDirectory> zip) {
  return std::make_unique<ZipFiles>(std::move(zip));
}

std::unique_ptr<const StoreFiles> make_directory_files(UniqueFd directory,
                                                       SourceCounters* counters) {
  return std::make_unique<DirectoryFiles>(std::move(directory), counters);
}

std::unique_ptr<const StoreFiles> make_object_files(std::shared_ptr<ObjectTree> tree,
                                                    const std::string& path, ChargePointer charge) {
  return std::make_unique<ObjectFiles>(std::move(tree), path, std::move(charge));
}

}  // namespace bloscfs::frame::inline pystore
