#include "tools/storage_options.hpp"

#include <algorithm>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>

#include "codec/names.hpp"
#include "tools/command_values.hpp"

namespace bloscfs::tools {
namespace {

/// Returns `help`. Adds the default value `usual` if an omitted option means that value.
std::string with_default(const std::string& help, StorageDefaults defaults, const char* usual) {
  return defaults == StorageDefaults::usual ? help + usual : help;
}

}  // namespace

void add_compression_options(CLI::App& command, StorageOptions& options, StorageDefaults defaults) {
  if (defaults == StorageDefaults::usual)
    command
        .add_option_function<std::string>(
            "--codec", [&](const std::string& text) { parse_codec_or_goal(text, options); },
            codec::list_written_codecs("or") + " (zstd); auto[:ratio|:balanced|:speed]")
        ->option_text("CODEC|auto");
  else
    add_parsed(command, "--codec", options.codec, parse_codec, "NAME[:META]",
               codec::list_written_codecs("or"));
  const auto parse_level = [](const std::string& text) {
    return static_cast<int>(parse_number(text, 0, 9));
  };
  add_parsed(command, "--clevel", options.clevel, parse_level, "LEVEL",
             with_default("Compression level, 0 to 9", defaults, " (3)"));
  add_parsed(
      command, "--filters", options.filters, parse_filters, "LIST",
      with_default("none, or up to six of " + codec::list_written_filters("and") + ", joined by +",
                   defaults, " (shuffle if typesize > 1)"));
  add_parsed(command, "--typesize", options.typesize, parse_size, "SIZE",
             with_default("Bytes of an item", defaults, " (the array's, or guessed)"));
  command.add_flag("--dict", options.dictionary,
                   "Compress with dictionaries (" + codec::list_dictionary_codecs("or") + ")");
  options.threads = std::max(1U, std::thread::hardware_concurrency());
  const auto parse_threads = [](const std::string& text) {
    return static_cast<unsigned>(parse_number(text, 1, 256));
  };
  add_parsed(command, "--threads", options.threads, parse_threads, "N",
             "Threads that compress (one per processor)");
}

void add_layout_options(CLI::App& command, StorageOptions& options, StorageDefaults defaults) {
  add_parsed(command, "--chunk-size", options.chunk_size, parse_size, "SIZE",
             with_default("Bytes of a chunk, such as 64K or 2M", defaults, " (about 4M)"));
  add_parsed(command, "--block-size", options.block_size, parse_size, "SIZE",
             with_default("Bytes of a block", defaults, " (by codec and level)"));
  add_parsed(command, "--chunk-shape", options.chunk_shape, parse_shape, "N,...",
             with_default("Shape of an array's chunks", defaults, " (whole rows)"));
  add_parsed(command, "--block-shape", options.block_shape, parse_shape, "N,...",
             "Shape of an array's blocks");
  command.add_flag("--sparse", options.sparse, "Write a directory with a file for each chunk");
  command.add_flag("--checksum", options.checksum, "Store a checksum of each chunk");
}

}  // namespace bloscfs::tools
