#include "fs/source/objects/object_home.hpp"

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "fs/support/relative_path.hpp"

namespace bloscfs::fs {

class ObjectHome::Lock final : public NameLock {
 public:
  Lock(Objects& objects, NodeId node, const std::string& suffix, bool raw)
      : objects_(objects), node_(node), suffix_(suffix), raw_(raw), stored_(objects.stored(node)) {
    place_.directory = objects_.frames()->directory(stored_.directory);
    place_.name = stored_.name;
    place_.is_temporary = stored_.is_new;
    place_.is_sparse = true;
    place_.is_unlinked = stored_.is_removed;
    place_.is_shared = true;
  }

  const StoredPlace& place() const override { return place_; }
  const RepresentationNames& names() override {
    if (names_) return *names_;
    names_.emplace();
    names_->flat = name_as(false, stored_.shown_name + suffix_);
    const std::string& shown = stored_.shown_name;
    if (!raw_ && shown.ends_with(kNpySuffix) && shown.size() > kNpySuffix.size())
      names_->array = name_as(
          true, shown.substr(0, shown.size() - kNpySuffix.size()) + std::string(kArraySuffix));
    return *names_;
  }
  void before_giving_name(const std::string&, ShownAs) override { objects_.begin_storing(node_); }
  std::string give_name(const std::string&, const frame::FileId&, const std::string& full_name,
                        ShownAs, const std::function<bool()>&) override {
    objects_.stored_as(node_, full_name);
    return full_name;
  }
  bool refresh(const frame::FileStamp&) override {
    objects_.rewritten(node_);
    return !objects_.stored(node_).is_removed;
  }

 private:
  /// What it is now keeps its name.
  std::string name_as(bool is_array, std::string wanted) {
    if (!stored_.is_new && stored_.is_array == is_array) return stored_.name;
    if (wanted == stored_.name) return wanted;
    return objects_.is_taken(stored_.directory, wanted) ? std::string() : wanted;
  }

  Objects& objects_;
  const NodeId node_;
  const std::string& suffix_;
  const bool raw_;
  const Objects::Stored stored_;
  StoredPlace place_;
  std::optional<RepresentationNames> names_;
};

ObjectHome::~ObjectHome() {
  try {
    objects_.record_outcome(node_);
  } catch (const std::exception&) {
    // The next look finds out.
  }
}

std::string ObjectHome::path() {
  const Objects::Stored stored = objects_.stored(node_);
  if (stored.is_removed) return {};
  return path_in(stored.directory, stored.name);
}

std::unique_ptr<NameLock> ObjectHome::lock_name() {
  return std::make_unique<Lock>(objects_, node_, suffix_, raw_);
}

}  // namespace bloscfs::fs
