#include "tools/report/reading_commands.hpp"

#include <filesystem>
#include <optional>

#include <fmt/core.h>

#include "frame/pystore/store_names.hpp"
#include "frame/remote/open_remote.hpp"
#include "fs/numpy/npy.hpp"
#include "fs/source/naming.hpp"
#include "tools/report/words.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

/// The names that the commands need.
struct Names {
  std::string file;    ///< as the user named it
  std::string source;  ///< what is mounted
  std::string shown;   ///< path in the mount
  std::string out;     ///< name for the extracted file
  std::optional<StoreAddress> address;
};

std::string last_part(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

/// True if the store is one frame; false for a ZIP file or a directory. `path` must be a store.
bool is_frame_store(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && !path.ends_with(frame::kZipStoreSuffix);
}

Names names_of(const std::string& file, bool is_npy) {
  Names names{file, file, {}, {}, parse_store_address(file)};
  const std::string suffix = is_npy ? std::string(fs::kNpySuffix) : "";
  if (names.address) {
    names.source = names.address->store;
    names.shown = names.address->key.substr(1) + suffix;
  } else {
    names.shown =
        fs::preferred_name(last_part(file), is_npy ? fs::ShownAs::array : fs::ShownAs::flat);
  }
  names.out = last_part(names.shown);
  if (names.out == last_part(file)) names.out += ".out";
  return names;
}

std::string shell_lines(const Names& names) {
  const std::string file = shell_word(names.file);
  const std::string shown = shell_word("mnt/" + names.shown);
  std::string text = fmt::format("b2frame extract {} -o {}\n", file, shell_word(names.out));
  text += fmt::format("b2frame cat {} | head -c 64 | xxd\n", file);
  text += fmt::format("b2frame verify {}\n\n", file);
  text += fmt::format("mkdir mnt\nbloscfs {} mnt\n", shell_word(names.source));
  text += fmt::format("ls -l {}\n", shown);
  return text + "fusermount3 -u mnt\n";
}

/// Returns the lines that open the file in Python; empty if no library can.
std::string library_lines(const Names& names, const frame::FrameInfo& info) {
  if (frame::is_remote(names.file)) return "";
  const std::string file = python_text(names.file);
  if (!info.is_frame())
    return fmt::format("import bloscpack\n{}\n",
                       info.array ? "array = bloscpack.unpack_ndarray_from_file(" + file + ")"
                                  : "data, _ = bloscpack.unpack_bytes_from_file(" + file + ")");
  std::string text = "import blosc2\n";
  const char* const name = info.array ? "array" : "schunk";
  if (names.address)
    text += fmt::format("store = blosc2.{}({}, mode=\"r\")\n{} = store[{}]\n",
                        is_frame_store(names.address->store) ? "EmbedStore" : "TreeStore",
                        python_text(names.address->store), name, python_text(names.address->key));
  else
    text += fmt::format("{} = blosc2.open({}, mode=\"r\")\n", name, file);
  return text + (info.array ? "array[...]  # all of it, as a NumPy array\n"
                            : "schunk[:]  # all of it, as bytes\n");
}

/// Returns the lines that open the file through a mount.
std::string mount_lines(const Names& names, bool is_npy) {
  const std::string path = python_text("mnt/" + names.shown);
  return "# or, while it is mounted:\n" +
         (is_npy ? fmt::format("import numpy\narray = numpy.load({}, mmap_mode=\"r\")\n", path)
                 : fmt::format("data = open({}, \"rb\").read()\n", path));
}

std::string python_lines(const Names& names, const frame::FrameInfo& info, bool is_npy) {
  const std::string library = library_lines(names, info);
  return library + (library.empty() ? "" : "\n") + mount_lines(names, is_npy);
}

Markup listing(const char* title, const std::string& lines) {
  if (lines.empty()) return {};
  return markup(
      "<div><h4>{}</h4><pre class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">"
      "<code>{}</code></pre></div>\n",
      title, title, lines);
}

}  // namespace

Markup reading_commands(const std::string& file, const frame::FrameInfo& info) {
  const bool is_npy = fs::npy_view(info).has_value();
  const Names names = names_of(file, is_npy);
  return markup("<h3>Reading it</h3>\n<div class=\"listings\">\n{}{}</div>\n",
                listing("In a shell", shell_lines(names)),
                listing("In Python", python_lines(names, info, is_npy)));
}

Markup repair_commands(const std::string& file) {
  const std::string word = shell_word(file);
  return markup(
      "<h3>Saving what is left</h3>\n<div class=\"listings\">\n{}</div>\n",
      listing("In a shell", fmt::format("b2frame verify --repairable {}\n"
                                        "b2frame repair {} -o {}\n",
                                        word, word, shell_word("mended-" + last_part(file)))));
}

}  // namespace bloscfs::tools
