#include "tests/model/variant.hpp"

#include <stdexcept>

#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/subprocess.hpp"

namespace bloscfs::test {

namespace {

OperationKinds joined(const std::vector<const OperationKinds*>& families) {
  OperationKinds all;
  for (const auto* family : families) all.insert(all.end(), family->begin(), family->end());
  return all;
}

OperationKinds operations_on_one_file() {
  OperationKinds kinds =
      joined({&content_operations(), &mapping_operations(), &attribute_operations()});
  for (const auto& kind : saving_operations())
    if (std::string(kind.name) != "replace") kinds.push_back(kind);
  return kinds;
}

OperationKinds all_operations() {
  return joined({&content_operations(), &mapping_operations(), &saving_operations(),
                 &attribute_operations(), &name_operations()});
}

/// Returns all of `names`, in the root and in every directory.
std::vector<std::string> spread(const std::vector<std::string>& directories,
                                const std::vector<std::string>& names) {
  std::vector<std::string> all = names;
  for (const auto& directory : directories)
    for (const auto& name : names) all.push_back(directory + "/" + name);
  return all;
}

NamePool plain_names() {
  const std::vector<std::string> directories = {"d", "d/e", "f"};
  NamePool pool{spread(directories, {"a", "b", "s", "plain"}), directories};
  for (const char* name : {"k/a", "k/a.b2", "k/a.b2frame", "k/a.b2nd"})
    pool.files.emplace_back(name);
  pool.directories.emplace_back("k");
  return pool;
}

NamePool npy_names() {
  const std::vector<std::string> directories = {"d"};
  return {spread(directories, {"a.npy", "a", "b.npy", "c", "plain"}), directories};
}

ByteVector first_contents() { return make_contents("text", 1, 200000, 1); }

fs_std::path prepare_one_file(const fs_std::path& source, const fs_std::path& model) {
  write_file(source / "data.b2frame", flat_frame(first_contents()));
  write_file(model / "data", first_contents());
  return source / "data.b2frame";
}

fs_std::path prepare_one_sparse_file(const fs_std::path& source, const fs_std::path& model) {
  write_sparse_frame(source / "data.b2frame", first_contents());
  write_file(model / "data", first_contents());
  return source / "data.b2frame";
}

void make_directories(const fs_std::path& root, const std::vector<std::string>& directories) {
  for (const auto& name : directories) fs_std::create_directory(root / name);
}

fs_std::path prepare_tree(const fs_std::path& source, const fs_std::path& model) {
  for (const auto& root : {source, model}) make_directories(root, plain_names().directories);
  write_file(model / "a", first_contents());
  // b2frame makes a frame with room for its trailer after the header. Without that room, a mount
  // could not empty the frame while it has several links.
  const auto made = run(
      {b2frame_program(), "create", (model / "a").string(), "-o", (source / "a.b2frame").string()});
  if (!made.ok()) throw std::runtime_error(made.description());
  write_sparse_frame(source / "s.b2frame", first_contents());
  write_file(model / "s", first_contents());
  write_file(source / "plain", first_contents());
  write_file(model / "plain", first_contents());
  return source;
}

fs_std::path prepare_arrays(const fs_std::path& source, const fs_std::path& model) {
  for (const auto& root : {source, model}) make_directories(root, npy_names().directories);
  const ByteVector items = make_contents("floats", 2, 8 * 40 * 50, 8);
  ByteVector file = bytes_of(npy_header("<f8", {40, 50}));
  file.insert(file.end(), items.begin(), items.end());
  write_file(source / "a.b2nd", array_frame(items, {40, 50}, "<f8", 8));
  write_file(model / "a.npy", file);
  write_sparse_frame(source / "b.b2nd", items, array_cut({40, 50}, "<f8", 8));
  write_file(model / "b.npy", file);
  write_file(source / "plain", file);
  write_file(model / "plain", file);
  return source;
}

}  // namespace

Variant one_contiguous_frame() {
  return {"contiguous", {{"data"}, {"data"}}, operations_on_one_file(), prepare_one_file};
}

Variant one_sparse_frame() {
  return {"sparse", {{"data"}, {"data"}}, operations_on_one_file(), prepare_one_sparse_file};
}

Variant tree_of_plain_names() { return {"tree", plain_names(), all_operations(), prepare_tree}; }

Variant tree_with_npy_names() {
  OperationKinds kinds = all_operations();
  // An array with links must stay an array, so a change that makes it a flat file would be refused
  // at fsync.
  std::erase_if(kinds, [](const OperationKind& kind) { return kind.name == std::string("link"); });
  return {"npy", npy_names(), kinds, prepare_arrays};
}

std::vector<std::string> mount_options(std::uint64_t number) {
  static const std::vector<std::vector<std::string>> turns = {
      {},
      {"chunk_size=64K", "block_size=8K"},
      {"cache_size=8M", "dirty_limit=2M"},
      {"sync=strict", "codec=lz4"},
      {"writeback"},
      {"checksum", "verify", "locking"},
      {"threads=2", "clevel=0"},
  };
  return turns[number % turns.size()];
}

}  // namespace bloscfs::test
