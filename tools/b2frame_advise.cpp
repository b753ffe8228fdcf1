// b2frame advise: recommends codec and filters for a file.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "frame/header/msgpack_json.hpp"
#include "fs/support/printable.hpp"
#include "tools/advice.hpp"
#include "tools/advice_picture.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/frame_tree.hpp"
#include "tools/input.hpp"
#include "tools/mounted_path.hpp"
#include "tools/output_file.hpp"
#include "tools/promised_format.hpp"
#include "tools/size_text.hpp"
#include "tools/text_columns.hpp"

namespace bloscfs::tools {
namespace {

void print_advice_json(const Advice& advice) {
  nlohmann::json line = {
      {"file", advice.file}, {"contents", advice.contents}, {"sampled", advice.sampled}};
  if (advice.stored) line["stored"] = *advice.stored;
  if (advice.stored_ratio) line["ratio"] = *advice.stored_ratio;
  for (const AdvisedSettings& advised : advice.settings) {
    const MeasuredSettings& measured = advised.measured;
    line["settings"].push_back({{"name", advised.name},
                                {"options", advised.options},
                                {"size", std::llround(advised.size)},
                                {"ratio", measured.ratio},
                                {"encode_mb_s", measured.encode},
                                {"decode_mb_s", measured.decode},
                                {"front", measured.on_front},
                                {"marks", advised.marks}});
  }
  fmt::print("{}\n", frame::to_line(line));
}

/// Returns a text such as "258 KiB (264000 bytes)".
std::string exact_size(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  return fmt::format("{} ({} bytes)", size_with_unit(static_cast<double>(bytes)), bytes);
}

/// Explains each mark of the table once, and the asterisk.
void print_meanings(const Advice& advice) {
  std::vector<std::string> told;
  fmt::print("\n");
  for (const AdvisedSettings& advised : advice.settings)
    for (const std::string& mark : advised.marks)
      if (std::ranges::find(told, mark) == told.end()) {
        fmt::print("{:14} {}\n", mark + ":", meaning_of_mark(mark));
        told.push_back(mark);
      }
  fmt::print("{:14} none of the others is better in size and both speeds\n", "*:");
}

void print_advice(const Advice& advice) {
  fmt::print("{}: {}", fs::printable(advice.file), exact_size(advice.contents));
  if (advice.stored) fmt::print(", stored now in {}", exact_size(*advice.stored));
  if (advice.stored_ratio) fmt::print(", ratio {:.2f}", *advice.stored_ratio);
  if (advice.sampled < advice.contents)
    fmt::print("\nTried on {}, of which sizes are estimated.",
               size_with_unit(static_cast<double>(advice.sampled)));
  fmt::print("\n\n");
  std::vector<std::vector<std::string>> rows{
      {"", "NAME", "SIZE", "RATIO", "WRITE MB/s", "READ MB/s", "OPTIONS OF CREATE"}};
  for (const AdvisedSettings& advised : advice.settings) {
    const MeasuredSettings& measured = advised.measured;
    rows.push_back({measured.on_front ? "*" : "", advised.name, size_with_unit(advised.size),
                    fmt::format("{:.2f}", measured.ratio), fmt::format("{:.0f}", measured.encode),
                    fmt::format("{:.0f}", measured.decode), advised.options});
  }
  using enum Align;
  fmt::print("{}", text_columns({left, left, right, right, right, right, left}, rows));
  print_meanings(advice);
}

void write_advice_picture(const Advice& advice, const std::string& path) {
  const std::string picture = advice_picture(advice);
  OutputFile out(path);
  out.write({reinterpret_cast<const std::uint8_t*>(picture.data()), picture.size()});
  out.commit();
}

/// Returns the bytes of a frame, which is a file or a directory.
std::int64_t frame_size(const std::string& path) {
  if (std::filesystem::is_directory(path)) return tree_size(path);
  return static_cast<std::int64_t>(std::filesystem::file_size(path));
}

/// Encodes the frame anew, in place, with the settings whose name or mark is `name`. Refuses what
/// b2frame convert --in-place refuses.
int apply_settings(const Advice& advice, const std::string& name) {
  const AdvisedSettings& chosen = find_settings(advice, name);
  const std::string file(fs::printable(advice.file));
  if (chosen.is_present && advice.stored) {
    fmt::print("\n{}: unchanged: it already has the settings {}\n", file, chosen.name);
    return 0;
  }
  if (!advice.stored) {
    refuse_shown(advice.file);
    throw std::runtime_error("is not a frame; make one with b2frame create");
  }
  const codec::EncodeSettings& settings = chosen.measured.settings;
  ConvertOptions options;
  options.files = {advice.file};
  options.in_place = true;
  options.storage.codec = fs::CodecChoice{settings.codec, settings.codec_meta};
  options.storage.clevel = settings.clevel;
  options.storage.filters = settings.filters;
  options.storage.dictionary = settings.use_dictionary;
  if (settings.typesize != advice.typesize) options.storage.typesize = settings.typesize;
  if (settings.blocksize != 0) options.storage.block_size = settings.blocksize;
  options.storage.threads = std::max(1U, std::thread::hardware_concurrency());
  const std::int64_t before = frame_size(advice.file);
  if (const int failed = run_convert(options); failed != 0) return failed;
  fmt::print("\n{}: stored anew as {} ({}): {} before, {} now\n", file, chosen.name, chosen.options,
             exact_size(before), exact_size(frame_size(advice.file)));
  return 0;
}

}  // namespace

int run_advise(const AdviseOptions& options) {
  require(!options.files.empty(), "FILE is required");
  require(options.picture.empty() || options.files.size() == 1, "--picture is of one FILE");
  if (!options.picture.empty()) require_replaceable(options.picture, OutputKind::markup);
  RunLimits limits;
  int status = 0;
  for (std::size_t i = 0; i < options.files.size(); i++) {
    const std::string& file = options.files[i];
    const int failed = guarded(file, [&] {
      const Advice advice = advise(file, options.typesize, limits);
      if (options.json) {
        print_advice_json(advice);
      } else {
        if (i > 0) fmt::print("\n");
        print_advice(advice);
      }
      if (!options.picture.empty()) write_advice_picture(advice, options.picture);
      return options.apply ? apply_settings(advice, *options.apply) : 0;
    });
    if (failed != 0) status = failed;
  }
  return status;
}

}  // namespace bloscfs::tools
