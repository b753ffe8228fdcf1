// b2frame: works on frames without mounting them. Parses the command line and calls a subcommand.

#include <charconv>
#include <cstdio>
#include <functional>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "fs/printable.hpp"
#include "tools/b2frame_commands.hpp"

namespace {

using namespace bloscfs::tools;

/// Reads a byte count; nothing but decimal digits will do.
std::int64_t parse_bytes(const std::string& text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < 0)
    throw CLI::ValidationError("'" + text + "' is not a number of bytes");
  return value;
}

class CommandLine {
 public:
  CommandLine() {
    app_.set_version_flag("-V,--version", std::string("b2frame ") + BLOSCFS_VERSION);
    app_.set_help_flag("-h,--help", "Print this help message and exit");
    app_.require_subcommand(0, 1);
    add_info();
    add_list();
    add_extract();
    add_verify();
    app_.allow_extras();  // last, since subcommands inherit it; run() names the first one
  }

  /// The exit status of the whole program.
  int run(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
      if (const auto words = app_.remaining(); !words.empty())
        throw UsageError("unknown subcommand or option: " + words.front());
      if (!work_) throw UsageError("a subcommand is required");
      return work_();
    } catch (const CLI::Success& request) {
      return app_.exit(request);
    } catch (const CLI::ParseError& error) {
      fmt::print(stderr, "b2frame: {}\nTry 'b2frame --help'.\n",
                 bloscfs::fs::printable(error.what()));
    } catch (const UsageError& error) {
      fmt::print(stderr, "b2frame: {}\nTry 'b2frame --help'.\n",
                 bloscfs::fs::printable(error.what()));
    }
    return kExitBadUsage;
  }

 private:
  void add_info() {
    CLI::App* command = app_.add_subcommand("info", "Show header, chunks and metalayers of frames");
    command->add_flag("--json", info_.json, "One JSON object per file");
    command->add_flag("--chunk", info_.chunk, "The files are bare chunks");
    command->add_option("FILE", info_.files, "Frames, sparse frames or Bloscpack files")
        ->required();
    command->callback([this] { work_ = [this] { return run_info(info_); }; });
  }

  void add_list() {
    CLI::App* command = app_.add_subcommand("list", "Show the names that a mount would have");
    command->add_option("DIR", list_.directory, "Directory that would be mounted")->required();
    command->callback([this] { work_ = [this] { return run_list(list_); }; });
  }

  void add_extract() {
    CLI::App* command = app_.add_subcommand("extract", "Write decompressed contents");
    command->add_flag("--chunk", extract_.chunk, "FILE is a bare chunk");
    command->add_flag("--npy", extract_.npy, "Write an array as a NPY file");
    command->add_option_function<std::string>(
        "--offset", [this](const std::string& text) { extract_.offset = parse_bytes(text); },
        "First byte to write, counted in what would be written whole");
    command->add_option_function<std::string>(
        "--length", [this](const std::string& text) { extract_.length = parse_bytes(text); },
        "Bytes to write, at most");
    command->add_option("FILE", extract_.file, "Frame, sparse frame or Bloscpack file")->required();
    command->add_option("-o", extract_.output, "File to write; - is stdout; .npy implies --npy")
        ->required();
    command->callback([this] { work_ = [this] { return run_extract(extract_); }; });
  }

  void add_verify() {
    CLI::App* command = app_.add_subcommand("verify", "Decode everything and name each bad chunk");
    command->add_flag("--chunk", verify_.chunk, "The files are bare chunks");
    command->add_option("FILE", verify_.files, "Frames, sparse frames or Bloscpack files")
        ->required();
    command->callback([this] { work_ = [this] { return run_verify(verify_); }; });
  }

  CLI::App app_{"Works on Blosc2 frames without mounting them.", "b2frame"};
  InfoOptions info_;
  ListOptions list_;
  ExtractOptions extract_;
  VerifyOptions verify_;
  std::function<int()> work_;
};

}  // namespace

int main(int argc, char** argv) {
  spdlog::set_default_logger(spdlog::stderr_logger_st("b2frame"));
  spdlog::default_logger()->set_formatter(bloscfs::fs::printable_formatter("b2frame: %v", "\n"));
  try {
    const int status = CommandLine().run(argc, argv);
    if (std::fflush(stdout) == 0) return status;
    std::perror("b2frame: stdout");
  } catch (const std::exception& error) {
    fmt::print(stderr, "b2frame: {}\n", bloscfs::fs::printable(error.what()));
  }
  return kExitBadData;
}
