#pragma once
// STORE:/a/b: what the command line calls a leaf, or a group, of a store of python-blosc2.

#include <memory>
#include <optional>
#include <string>

#include "frame/pystore/python_store.hpp"

namespace bloscfs::tools {

struct StoreAddress {
  std::string store;  ///< path
  std::string key;    ///< "/" or "/a/b"
};

/// Nothing for URLs, where a file has the whole text as its name, and where what stands before the
/// first ":/" neither exists nor is called *.b2z, *.b2d, *.b2e, *.b2frame or *.cframe.
std::optional<StoreAddress> parse_store_address(const std::string& text);

/// The same of a URL: what stands before the first ":/" of its path has one of these suffixes.
std::optional<StoreAddress> parse_remote_address(const std::string& url);

/// One of the two.
std::optional<StoreAddress> parse_any_address(const std::string& text);

/// Waits for mounts of it that have ended. Throws Error(malformed) where there is no store,
/// std::system_error.
std::unique_ptr<frame::PythonStore> open_store(const std::string& path);

/// The store at a path that is a directory or a ZIP file; null if that is something else, or
/// nothing.
std::unique_ptr<frame::PythonStore> find_store(const std::string& path);

/// The store at a path, whichever kind it is; null if that is something else, or nothing.
std::unique_ptr<frame::PythonStore> find_any_store(const std::string& path);

/// What the address stands for in its store, which was opened. Throws as refuse_key() does.
frame::StoreEntry find_entry(const frame::PythonStore& store, const StoreAddress& address);

/// The frame of a leaf. Throws Error, std::system_error, and as refuse_key() and refuse_whole() do.
std::shared_ptr<const frame::Snapshot> open_leaf(const frame::PythonStore& store,
                                                 const StoreAddress& address);

/// Throws std::runtime_error: the store has no such key.
[[noreturn]] void refuse_key(const StoreAddress& address);

/// Throws std::runtime_error: one leaf is wanted, and this is "a store", or "a group of a store".
[[noreturn]] void refuse_whole(const char* what);

/// For a path that holds no frame. Throws where it is a store; where it is a damaged store, with
/// the error of opening it; and where its name promises a frame or a store.
void require_plain(const std::string& path);

/// As require_plain(), and throws Error(malformed) for anything else.
[[noreturn]] void refuse_no_frame(const std::string& path);

}  // namespace bloscfs::tools
