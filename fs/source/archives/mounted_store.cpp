#include "fs/source/archives/mounted_store.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include <sys/stat.h>

#include "codec/error.hpp"
#include "frame/pystore/store_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/node.hpp"
#include "fs/support/request_limits.hpp"

namespace bloscfs::fs {
namespace {

std::string key_in(const std::string& group, std::string_view name) {
  return (group == "/" ? group : group + "/") + std::string(name);
}

std::string_view suffix_of(ShownAs shown) { return shown == ShownAs::array ? ".b2nd" : ".b2f"; }

/// Of a child while a group is listed: itself, its name and what finding that takes, and an entry
/// of the directory in a vector that grows, beside their texts.
constexpr std::size_t kChildCost = sizeof(MountedStore::Child) + sizeof(NamedEntry) +
                                   sizeof(std::string) + 64 + 3 * sizeof(DirectoryEntry);
/// The key, the full name three times, and the shown one.
constexpr std::size_t kTextsOfChild = 4;
constexpr std::size_t kSuffixSize = 8;

}  // namespace

MountedStore::MountedStore(std::shared_ptr<const frame::PythonStore> store, bool raw,
                           std::shared_ptr<MemoryBudget::Listing> charge,
                           std::shared_ptr<void> keeper, std::shared_ptr<const struct stat> embed)
    : keeper_(std::move(keeper)),
      embed_(std::move(embed)),
      charge_(std::move(charge)),
      store_(std::move(store)),
      raw_(raw) {
  const std::size_t embedded = store_->embed_map().size();
  charge_->keep(store_->memory() + embedded * sizeof(forms_[0]));
  forms_ = std::vector<std::atomic<Form>>(embedded);
}

mode_t MountedStore::Child::type() const {
  if (!leaf) return S_IFDIR;
  return std::holds_alternative<frame::ReferencedLeaf>(*leaf) ? S_IFLNK : S_IFREG;
}

std::shared_ptr<const frame::Snapshot> MountedStore::open(const frame::Leaf& leaf) const {
  return store_->open(leaf);
}

/// What cannot be opened is told so by who opens it.
bool MountedStore::is_array(const frame::Leaf& leaf) const {
  RequestLimits::check();
  try {
    const auto snapshot = open(leaf);
    return snapshot && snapshot->info().array.has_value();
  } catch (const codec::Error&) {
    return false;
  }
}

bool MountedStore::is_embedded_array(const std::string& key, const frame::Leaf& leaf) const {
  const frame::EmbedMap& map = store_->embed_map();
  std::atomic<Form>& known = forms_.at(map.lower_bound(key));
  if (known == Form::unknown) known = is_array(leaf) ? Form::array : Form::flat;
  return known == Form::array;
}

std::optional<MountedStore::Child> MountedStore::leaf_of(const std::string& key,
                                                         const frame::Leaf& leaf) const {
  Child child{key, std::string(frame::last_part(key)), ShownAs::itself, leaf};
  if (std::holds_alternative<frame::ReferencedLeaf>(leaf)) return child;
  const auto* const external = std::get_if<frame::ExternalLeaf>(&leaf);
  const auto form = external == nullptr ? frame::LeafForm::other : external->form;
  bool shows_array = form == frame::LeafForm::array;
  if (form == frame::LeafForm::other)
    shows_array = external == nullptr ? is_embedded_array(key, leaf) : is_array(leaf);
  child.shown = shows_array && !raw_ ? ShownAs::array : ShownAs::flat;
  if (form != frame::LeafForm::other)
    child.full_name = std::string(frame::last_part(external->path));
  else
    child.full_name += suffix_of(shows_array ? ShownAs::array : ShownAs::flat);
  return child;
}

std::vector<MountedStore::Child> MountedStore::children(const std::string& group,
                                                        const frame::StoreEntry& entry) const {
  std::vector<Child> found;
  const std::string key = key_in(group, entry.name);
  if (entry.is_group) found.push_back({key, entry.name, ShownAs::itself, std::nullopt});
  if (!entry.leaf) return found;
  if (auto leaf = leaf_of(key, *entry.leaf)) found.push_back(*std::move(leaf));
  return found;
}

std::vector<MountedStore::Child> MountedStore::children(const std::string& group,
                                                        frame::MemoryCharge& charge) const {
  std::vector<frame::StoreEntry> entries = store_->list(group, charge);
  // A leaf that is a group, too, is two of them.
  std::size_t count = 0, texts = 0;
  for (const frame::StoreEntry& entry : entries) {
    const std::size_t both = (entry.is_group ? 1u : 0u) + (entry.leaf ? 1u : 0u);
    count += both;
    texts += both * frame::heap_size(group.size() + entry.name.size() + kSuffixSize);
  }
  charge.take(count * kChildCost + kTextsOfChild * texts);
  std::vector<Child> found;
  found.reserve(count);
  for (frame::StoreEntry& listed : entries) {
    const frame::StoreEntry entry = std::move(listed);
    for (Child& child : children(group, entry)) found.push_back(std::move(child));
  }
  return found;
}

void MountedStore::for_each(const std::string& group, frame::MemoryCharge& charge,
                            const std::function<void(Shown shown)>& visit) const {
  std::vector<Child> found = children(group, charge);
  std::vector<std::string> names;
  {
    std::vector<NamedEntry> named;
    named.reserve(found.size());
    for (const Child& child : found) named.push_back({child.full_name, child.shown});
    names = shown_names(named);
  }
  for (std::size_t i = 0; i < found.size(); i++) visit({std::move(names[i]), std::move(found[i])});
}

std::optional<MountedStore::Child> MountedStore::find_full(const std::string& group,
                                                           const std::string& full_name) const {
  const auto look = [&](std::string_view name) -> std::optional<Child> {
    if (name.empty() || name == frame::kGroupAttributes) return std::nullopt;
    const auto entry = store_->find(key_in(group, name));
    if (!entry) return std::nullopt;
    for (Child& child : children(group, *entry))
      if (child.full_name == full_name) return std::move(child);
    return std::nullopt;
  };
  if (auto whole = look(full_name)) return whole;
  const std::string_view stem = frame::leaf_stem(full_name);
  return stem == full_name ? std::nullopt : look(stem);
}

std::optional<MountedStore::Child> MountedStore::find(const std::string& group,
                                                      const std::string& name) const {
  const auto full_name = full_name_of(name, [&](const std::string& full) -> std::optional<ShownAs> {
    const auto child = find_full(group, full);
    return child ? std::optional(child->shown) : std::nullopt;
  });
  if (full_name) return find_full(group, *full_name);
  require_complete(name);
  return std::nullopt;
}

void MountedStore::require_complete(const std::string& name) const {
  if (!store_->is_complete()) frame::throw_errno(EIO, name + ": may be in a damaged part");
}

}  // namespace bloscfs::fs
