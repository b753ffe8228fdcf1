#include "tools/store_address.hpp"

#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/pystore/store_names.hpp"
#include "frame/remote/open_remote.hpp"
#include "frame/remote/url.hpp"
#include "fs/mount/ended_mounts.hpp"
#include "fs/source/naming.hpp"
#include "tools/frame_tree.hpp"
#include "tools/mounted_path.hpp"

namespace bloscfs::tools {
namespace {

bool has_suffix_of_store(const std::string& path) {
  for (const char* suffix : {".b2z", ".b2d", ".b2e", ".b2frame", ".cframe"})
    if (path.ends_with(suffix)) return true;
  return false;
}

/// Like find_store(), but also returns null for a directory that is damaged, because that may be
/// the directory of a sparse frame.
std::unique_ptr<frame::PythonStore> find_readable_store(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return find_store(path);
  try {
    return find_store(path);
  } catch (const codec::Error&) {
    return nullptr;
  }
}

StoreAddress address_of(const std::string& text, std::size_t colon) {
  StoreAddress address{text.substr(0, colon), text.substr(colon + 1)};
  while (address.key.size() > 1 && address.key.ends_with('/')) address.key.pop_back();
  return address;
}

}  // namespace

std::optional<StoreAddress> parse_store_address(const std::string& text) {
  if (frame::is_remote(text)) return std::nullopt;
  const std::size_t colon = text.find(":/");
  std::error_code ignored;
  if (colon == std::string::npos || colon == 0 || std::filesystem::exists(text, ignored))
    return std::nullopt;
  StoreAddress address = address_of(text, colon);
  if (!has_suffix_of_store(address.store) && !std::filesystem::exists(address.store, ignored))
    return std::nullopt;
  return address;
}

std::optional<StoreAddress> parse_remote_address(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t colon = scheme == std::string::npos ? scheme : url.find(":/", scheme + 3);
  if (colon == std::string::npos || !frame::is_remote(url)) return std::nullopt;
  StoreAddress address = address_of(url, colon);
  return has_suffix_of_store(address.store) ? std::optional(std::move(address)) : std::nullopt;
}

std::optional<StoreAddress> parse_any_address(const std::string& text) {
  return frame::is_remote(text) ? parse_remote_address(text) : parse_store_address(text);
}

std::unique_ptr<frame::PythonStore> open_store(const std::string& path) {
  fs::wait_for_ended_mounts(path);
  if (auto store = frame::open_store(path, {})) return store;
  codec::throw_malformed("not a store of python-blosc2");
}

std::unique_ptr<frame::PythonStore> find_any_store(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return nullptr;
  fs::wait_for_ended_mounts(path);
  return frame::open_store(path, {});
}

std::unique_ptr<frame::PythonStore> find_store(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored) && !path.ends_with(frame::kZipStoreSuffix))
    return nullptr;
  auto store = find_any_store(path);
  return store && store->kind() != frame::StoreKind::embed ? std::move(store) : nullptr;
}

frame::StoreEntry find_entry(const frame::PythonStore& store, const StoreAddress& address) {
  auto entry = store.find(address.key);
  if (!entry) {
    const std::size_t slash = address.key.rfind('/');
    const std::string column = address.key.substr(0, slash) + "/_cols" + address.key.substr(slash);
    const std::size_t bracket = address.key.rfind('[');
    std::string hint;
    if (store.find(column))
      hint = fmt::format(" (did you mean {}?)", column);
    else if (bracket != std::string::npos && store.find(address.key.substr(0, bracket)))
      hint = address.key.ends_with(']')
                 ? "; a slice goes with extract, cat, head, and info --stats"
                 : fmt::format(" (did you mean the slice {}]?)", address.key);
    refuse_key(address, hint);
  }
  return *entry;
}

std::shared_ptr<const frame::Snapshot> open_leaf(const frame::PythonStore& store,
                                                 const StoreAddress& address) {
  const frame::StoreEntry entry = find_entry(store, address);
  if (!entry.leaf) refuse_whole("a group of a store");
  if (auto snapshot = store.open(*entry.leaf)) return snapshot;
  codec::throw_malformed("is not a Blosc2 frame");
}

bool is_in_zip_store(const std::string& name) {
  const std::string suffix(frame::kZipStoreSuffix);
  return name.ends_with(suffix) || name.find(suffix + ":/") != std::string::npos ||
         name.find(suffix + "/") != std::string::npos;
}

std::string file_of_frame(const std::string& name) {
  const auto address = parse_store_address(name);
  const std::string& path = address ? address->store : name;
  const auto store = address ? open_store(path) : find_readable_store(path);
  if (!store) return name;
  std::error_code ignored;
  if (store->kind() != frame::StoreKind::embed && !std::filesystem::is_directory(path, ignored))
    throw std::runtime_error(
        "is in a ZIP file; run b2frame unpack, name the file of the leaf, then run b2frame pack "
        "(if unpack fails, unzip -d DIR.b2d also takes damaged members)");
  if (!address)
    throw std::runtime_error(
        fmt::format("is a store; name one of its leaves, {}:/KEY (b2frame ls lists them)", path));
  const frame::StoreEntry entry = find_entry(*store, *address);
  if (!entry.leaf) refuse_whole("a group of a store");
  if (const auto* const leaf = std::get_if<frame::ExternalLeaf>(&*entry.leaf))
    return path + "/" + leaf->path;
  throw std::runtime_error(
      "has no file of its own in the store; b2frame extract saves its contents");
}

void refuse_key(const StoreAddress& address, const std::string& hint) {
  throw std::runtime_error(fmt::format("the store has no key {}{}; b2frame ls {} lists the keys",
                                       address.key, hint, frame::shown_url(address.store)));
}

void refuse_whole(const char* what) {
  throw std::runtime_error(fmt::format(
      "is {}; name a leaf (b2frame ls lists them), or use -r of b2frame extract", what));
}

void require_plain(const std::string& path) {
  if (find_any_store(path)) refuse_whole("a store");
  std::error_code not_there;
  require_no_frame_suffix(path,
                          static_cast<std::int64_t>(std::filesystem::file_size(path, not_there)));
  if (has_suffix_of_store(path)) codec::throw_malformed("has the suffix of a store but is not one");
}

void refuse_no_frame(const std::string& path) {
  require_plain(path);
  refuse_shown(path);
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw std::runtime_error(
        "is a directory; name a frame in it (info, extract and verify take -r for all)");
  // A frame made in a mount would be a frame inside of a frame.
  codec::throw_malformed("neither a Blosc2 frame nor a Bloscpack file" +
                         fs::creation_hint(place_in_source(path).value_or(path)));
}

}  // namespace bloscfs::tools
