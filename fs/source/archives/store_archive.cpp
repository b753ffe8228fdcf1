#include "fs/source/archives/store_archive.hpp"

#include <cerrno>
#include <utility>
#include <variant>

#include "codec/error.hpp"
#include "frame/pystore/store_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/node.hpp"

namespace bloscfs::fs {
namespace {

std::string key_in(const std::string& group, std::string_view name) {
  return (group == "/" ? group : group + "/") + std::string(name);
}

std::string_view suffix_of(ShownAs shown) { return shown == ShownAs::array ? ".b2nd" : ".b2f"; }

/// Memory for an entry while a group is listed, without its texts: the entry itself, its name with
/// what the search for collisions takes, and a directory entry in a vector that grows.
constexpr std::size_t kArchiveEntryCost = sizeof(ArchiveEntry) + sizeof(NamedEntry) +
                                          sizeof(std::string) + 64 + 3 * sizeof(DirectoryEntry);
/// Texts of an entry while a group is listed: the key, the full name twice, and the shown name.
constexpr std::size_t kTextsOfEntry = 4;
constexpr std::size_t kSuffixSize = 8;

}  // namespace

StoreArchive::StoreArchive(std::unique_ptr<const frame::PythonStore> store, bool raw,
                           std::shared_ptr<MemoryBudget::Listing> charge)
    : charge_(std::move(charge)), store_(std::move(store)), raw_(raw) {
  const std::size_t embedded = store_->embed_map().size();
  charge_->keep(store_->memory() + embedded * sizeof(forms_[0]));
  forms_ = std::vector<std::atomic<Form>>(embedded);
}

/// True if a leaf is an array. False for a damaged leaf: opening it reports the damage.
bool StoreArchive::is_array(Request& request, const std::string& key,
                            const frame::Leaf& leaf) const {
  const bool is_external = std::holds_alternative<frame::ExternalLeaf>(leaf);
  std::atomic<Form>* const known =
      is_external ? nullptr : &forms_.at(store_->embed_map().lower_bound(key));
  if (known != nullptr && *known != Form::unknown) return *known == Form::array;
  request.check();
  bool found = false;
  try {
    const auto snapshot = store_->open(leaf);
    found = snapshot && snapshot->info().array.has_value();
  } catch (const codec::Error&) {
    found = false;
  }
  if (known != nullptr) *known = found ? Form::array : Form::flat;
  return found;
}

ArchiveEntry StoreArchive::described(Request& request, const std::string& key,
                                     const frame::Leaf& leaf) const {
  ArchiveEntry entry{key, std::string(frame::last_part(key)), ShownAs::itself, S_IFLNK};
  if (std::holds_alternative<frame::ReferencedLeaf>(leaf)) return entry;
  entry.type = S_IFREG;
  const auto* const external = std::get_if<frame::ExternalLeaf>(&leaf);
  const auto form = external == nullptr ? frame::LeafForm::other : external->form;
  const bool shows_array = form == frame::LeafForm::other ? is_array(request, key, leaf)
                                                          : form == frame::LeafForm::array;
  entry.shown = shows_array && !raw_ ? ShownAs::array : ShownAs::flat;
  if (form != frame::LeafForm::other)
    entry.full_name = std::string(frame::last_part(external->path));
  else
    entry.full_name += suffix_of(shows_array ? ShownAs::array : ShownAs::flat);
  return entry;
}

std::vector<ArchiveEntry> StoreArchive::described(Request& request, const std::string& group,
                                                  const frame::StoreEntry& entry) const {
  std::vector<ArchiveEntry> found;
  const std::string key = key_in(group, entry.name);
  if (entry.is_group) found.push_back({key, entry.name, ShownAs::itself, S_IFDIR});
  if (entry.leaf) found.push_back(described(request, key, *entry.leaf));
  return found;
}

std::vector<ArchiveEntry> StoreArchive::list(Request& request, const std::string& group,
                                             frame::MemoryCharge& charge) const {
  std::vector<frame::StoreEntry> entries = store_->list(group, charge);
  std::size_t count = 0, texts = 0;
  for (const frame::StoreEntry& entry : entries) {
    const std::size_t both = (entry.is_group ? 1u : 0u) + (entry.leaf ? 1u : 0u);
    count += both;
    texts += both * frame::heap_size(group.size() + entry.name.size() + kSuffixSize);
  }
  charge.take(count * kArchiveEntryCost + kTextsOfEntry * texts);
  std::vector<ArchiveEntry> found;
  found.reserve(count);
  for (frame::StoreEntry& listed : entries) {
    const frame::StoreEntry entry = std::move(listed);
    for (ArchiveEntry& one : described(request, group, entry)) found.push_back(std::move(one));
  }
  return found;
}

std::optional<ArchiveEntry> StoreArchive::find(Request& request, const std::string& group,
                                               const std::string& full_name) const {
  const auto look = [&](std::string_view name) -> std::optional<ArchiveEntry> {
    if (name.empty() || name == frame::kGroupAttributes) return std::nullopt;
    const auto entry = store_->find(key_in(group, name));
    if (!entry) return std::nullopt;
    for (ArchiveEntry& one : described(request, group, *entry))
      if (one.full_name == full_name) return std::move(one);
    return std::nullopt;
  };
  // A full name is the last part of the entry's key, or that part with the suffix of a leaf.
  if (auto whole = look(full_name)) return whole;
  const std::string_view stem = frame::leaf_stem(full_name);
  return stem == full_name ? std::nullopt : look(stem);
}

frame::Leaf StoreArchive::leaf_of(const ArchiveEntry& entry) const {
  auto found = store_->find(entry.key);
  if (!found || !found->leaf) frame::throw_errno(ENOENT, entry.key);
  return *std::move(found->leaf);
}

std::shared_ptr<const frame::Snapshot> StoreArchive::open(const ArchiveEntry& leaf) const {
  std::shared_ptr<const frame::Snapshot> snapshot = store_->open(leaf_of(leaf));
  if (!snapshot) frame::throw_errno(EIO, leaf.key + ": no frame");
  return snapshot;
}

std::string StoreArchive::link_text(const ArchiveEntry& link) const {
  return std::get<frame::ReferencedLeaf>(leaf_of(link)).url();
}

std::shared_ptr<const frame::Snapshot> StoreArchive::frame_of(const std::string& group) const {
  return store_->attributes(group);
}

std::optional<std::string> StoreArchive::attribute(const std::string& group,
                                                   const std::string& name) const {
  if (name == kStoreAttribute && group == "/") return frame::store_kind_name(store_->kind());
  return name == kGroupKindAttribute ? store_->group_kind(group) : std::nullopt;
}

bool StoreArchive::may_have(const std::string& group, const std::string& full_name) const {
  return store_->find(key_in(group, full_name)) ||
         store_->find(key_in(group, frame::leaf_stem(full_name)));
}

bool StoreArchive::has_leaf(const std::string& key) const {
  const auto entry = store_->find(key);
  return entry && entry->leaf;
}

bool StoreArchive::has_group(const std::string& group) const {
  return group == "/" || store_->find(group);
}

bool StoreArchive::has_below(const std::string& group, bool with_attributes) const {
  const std::string prefix = group == "/" ? group : group + "/";
  const frame::EmbedMap& map = store_->embed_map();
  for (std::size_t at = map.lower_bound(prefix); at < map.size(); at++) {
    if (!map.key(at).starts_with(prefix)) return false;
    if (with_attributes || frame::last_part(map.key(at)) != frame::kGroupAttributes) return true;
  }
  return false;
}

std::unique_ptr<const Archive> open_store_file(const StoreFile& file, Role role, bool raw,
                                               std::shared_ptr<MemoryBudget::Listing> charge) {
  std::unique_ptr<const frame::PythonStore> store;
  if (role == Role::zip) store = frame::open_zip_store(file.bytes(), {}, charge);
  if (!store)
    if (auto frame = file.frame()) store = frame::open_embed_store(std::move(frame), charge);
  if (!store) return nullptr;
  return std::make_unique<StoreArchive>(std::move(store), raw, std::move(charge));
}

}  // namespace bloscfs::fs
