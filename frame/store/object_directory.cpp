#include "frame/store/object_directory.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame {
namespace {

class ObjectDirectory final : public StoreDirectory {
 public:
  ObjectDirectory(std::shared_ptr<ObjectTree> tree, std::string path, std::string index_name,
                  std::shared_ptr<const ObjectSource> index)
      : tree_(std::move(tree)),
        path_(std::move(path)),
        index_name_(std::move(index_name)),
        index_(std::move(index)) {}

  std::shared_ptr<const ByteSource> open_source(const std::string& name) const override {
    if (index_ && name == index_name_) return index_;
    try {
      return tree_->open(path_ + "/" + name, nullptr);
    } catch (const std::system_error& error) {
      if (error.code() == std::errc::no_such_file_or_directory) return nullptr;
      throw;
    }
  }
  std::optional<FileStamp> stamp(const std::string& name) const override {
    const auto source = open_source(name);
    return source ? std::optional(source->stamp()) : std::nullopt;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (ObjectEntry& entry : tree_->list(path_)) names.push_back(std::move(entry.name));
    return names;
  }
  int descriptor() const override { return -1; }

  std::shared_ptr<StoreFile> open(const std::string& name) override { refuse(name); }
  std::shared_ptr<StoreFile> create(const std::string& name, mode_t) override { refuse(name); }
  void rename(const std::string& from, const std::string&, RenameMode) override { refuse(from); }
  void unlink(const std::string& name) override { refuse(name); }
  void make_directory(const std::string& name, mode_t) override { refuse(name); }
  std::shared_ptr<StoreDirectory> open_directory(const std::string& name) override {
    return make_object_directory(tree_, path_ + "/" + name, {}, nullptr);
  }
  void sync() override {}

 private:
  [[noreturn]] static void refuse(const std::string& name) { throw_errno(EROFS, name); }

  const std::shared_ptr<ObjectTree> tree_;
  const std::string path_, index_name_;
  const std::shared_ptr<const ObjectSource> index_;
};

}  // namespace

std::shared_ptr<StoreDirectory> make_object_directory(std::shared_ptr<ObjectTree> tree,
                                                      const std::string& path,
                                                      const std::string& index_name,
                                                      std::shared_ptr<const ObjectSource> index) {
  return std::make_shared<ObjectDirectory>(std::move(tree), path, index_name, std::move(index));
}

}  // namespace bloscfs::frame
