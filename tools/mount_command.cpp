#include "tools/mount_command.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "fs/options/options.hpp"
#include "fs/support/printable.hpp"
#include "tools/help_layout.hpp"
#include "tools/unknown_word.hpp"
#include "tools/version.hpp"

namespace bloscfs::tools {
namespace {

constexpr int kBadUsage = 2;
constexpr const char* kHelper = "mount.bloscfs";

/// The command line before it is interpreted.
struct Words {
  std::vector<std::string> option_lists;
  std::string type, other_namespace;
  bool is_sloppy = false;
  bool ignored = false;
};

void add_common(CLI::App& app, Words& words, fs::SessionSettings& settings) {
  app.formatter(help_layout());
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("-V,--version", app.get_name() + " " + version_text(), "print the version");
  app.add_option("SOURCE", settings.source,
                 "frame or directory of frames, or a URL (http, https, s3)");
  app.add_option("MOUNTPOINT", settings.mountpoint, "an existing directory");
  app.add_option("-o", words.option_lists, "mount options, separated by commas")
      ->option_text("OPTION,...")
      ->allow_extra_args(false);
}

void add_mounts_commands(CLI::App& app, MountsCommand& command) {
  const auto add = [&](const char* name, std::string& mountpoint, const char* help) {
    app.add_option(name, mountpoint, help)->option_text("MNT")->allow_extra_args(false);
  };
  add("--unmount", command.unmounted, "commit everything, then unmount MNT");
  app.add_flag("--list", command.lists, "list the mounts");
  app.add_option("--stats", command.stats.mountpoint,
                 "show the activity of MNT, and what requests wait for")
      ->option_text("MNT")
      ->expected(0, 1);
  app.add_flag("--watch", command.stats.watch, "with --stats: repeat each second");
  app.add_flag("--json", command.json, "with --list or --stats: print JSON");
  app.add_flag("--prometheus", command.stats.prometheus,
               "with --stats: print metrics for Prometheus, without MNT of all mounts");
}

void describe_program(CLI::App& app, fs::SessionSettings& settings, MountsCommand& of_mounts) {
  app.description(
      "Mounts Blosc2 frames, Bloscpack files, or a directory tree of them, and shows\n"
      "the decompressed contents as ordinary files.");
  app.add_flag("-f", settings.foreground, "stay in the foreground");
  app.add_flag("-d", settings.debug, "print every request (libfuse's debug output); implies -f");
  add_mounts_commands(app, of_mounts);
  app.footer("Mount options:\n" + fs::options_help() +
             "Examples:\n"
             "  bloscfs -o ro,cache_size=512M /data /mnt\n"
             "  bloscfs -o allow_other,idle_timeout=600 run.b2nd /mnt\n"
             "  bloscfs --unmount /mnt");
}

void describe_helper(CLI::App& app, Words& words, bool& check_only) {
  app.description("Mounts SOURCE. mount(8) runs this program for the type bloscfs.");
  app.add_flag("-f", check_only, "check the options and paths, mount nothing");
  app.add_flag("-s", words.is_sloppy, "ignore unknown options");
  app.add_flag("-n", words.ignored, "ignored");
  app.add_flag("-v", words.ignored, "ignored");
  app.add_option("-t", words.type, "bloscfs, or bloscfs.SUBTYPE")->option_text("TYPE");
  app.add_option("-N", words.other_namespace, "not supported; use nsenter(1)")
      ->option_text("NAMESPACE");
  app.footer(
      "'bloscfs --help' lists the mount options.\n"
      "Examples:\n"
      "  mount -t bloscfs -o ro,cache_size=512M /data /mnt\n"
      "  mount -o remount,ro /mnt");
}

/// Returns the words in the order that CLI11 expects: the last one first. Users of mount(8) may
/// type -ro or -rw. These become values of -o.
std::vector<std::string> reversed_words(int argc, const char* const* argv) {
  std::vector<std::string> words;
  for (int at = 1; at < argc; at++) {
    const std::string_view word = argv[at];
    const bool is_value = at > 1 && argv[at - 1] == std::string_view("-o");
    if (!is_value && (word == "-ro" || word == "-rw")) {
      words.emplace_back("-o");
      words.emplace_back(word.substr(1));
    } else {
      words.emplace_back(word);
    }
  }
  std::reverse(words.begin(), words.end());
  return words;
}

/// mount(8) writes rw if the user did not ask for ro. So rw does not mean that the user insists on
/// a writable mount.
void adapt_helper_options(const Words& words, fs::MountOptions& options) {
  if (!words.other_namespace.empty())
    throw std::invalid_argument("-N is not supported: enter the namespace first, with nsenter(1)");
  if (options.unwritable == fs::Unwritable::refused) options.unwritable = fs::Unwritable::warned_of;
  if (const std::size_t dot = words.type.rfind('.'); dot != std::string::npos)
    options.passthrough_options.push_back("subtype=" + words.type.substr(dot + 1));
}

/// Allows one action at a time, and checks that its arguments are complete. CLI11 cannot check
/// this, because it does not know the action.
void interpret_words(MountCommand& command, const Words& words) {
  MountsCommand& of_mounts = command.of_mounts;
  std::string& source = command.settings.source;
  // In "--stats --watch MNT", MNT is parsed as SOURCE.
  if (of_mounts.stats.is_given && of_mounts.stats.mountpoint.empty() &&
      command.settings.mountpoint.empty())
    of_mounts.stats.mountpoint = std::exchange(source, {});
  const int things = (of_mounts.lists ? 1 : 0) + (of_mounts.unmounted.empty() ? 0 : 1) +
                     (of_mounts.stats.is_given ? 1 : 0);
  if (things > 1) throw std::invalid_argument("--list, --stats and --unmount are one at a time");
  if (of_mounts.stats.watch && !of_mounts.stats.is_given)
    throw std::invalid_argument("--watch is for --stats");
  if (of_mounts.stats.prometheus && !of_mounts.stats.is_given)
    throw std::invalid_argument("--prometheus is for --stats");
  if (of_mounts.stats.prometheus && (of_mounts.stats.watch || of_mounts.json))
    throw std::invalid_argument("--prometheus goes with neither --watch nor --json");
  if (of_mounts.stats.is_given && of_mounts.stats.mountpoint.empty() && !of_mounts.stats.prometheus)
    throw std::invalid_argument("--stats needs a value: MNT");
  if (of_mounts.json && (things == 0 || !of_mounts.unmounted.empty()))
    throw std::invalid_argument("--json is for --list and --stats");
  of_mounts.stats.json = of_mounts.json;
  if (things == 1) {
    if (!source.empty()) throw std::invalid_argument("one argument too many: " + source);
    if (!words.option_lists.empty()) throw std::invalid_argument("-o is for mounting");
    return;
  }
  if (source.empty()) throw CLI::RequiredError("SOURCE");
}

/// A remount may name the mountpoint alone, without SOURCE.
void require_mountpoint(fs::SessionSettings& settings) {
  if (!settings.mountpoint.empty()) return;
  if (!settings.options.remount) throw CLI::RequiredError("MOUNTPOINT");
  settings.mountpoint = std::exchange(settings.source, {});
}

void complain(const std::string& program, const std::string& what, bool has_help) {
  std::fprintf(stderr, "%s: %s\n", program.c_str(), fs::printable(what).c_str());
  if (has_help) std::fprintf(stderr, "Try '%s --help'.\n", program.c_str());
}

}  // namespace

std::variant<MountCommand, int> parse_mount_command(int argc, const char* const* argv) {
  const std::string_view called = argc > 0 ? argv[0] : "";
  const bool is_helper = called.substr(called.rfind('/') + 1) == kHelper;
  MountCommand command;
  command.program = is_helper ? kHelper : "bloscfs";
  Words words;
  CLI::App app("", command.program);
  add_common(app, words, command.settings);
  if (is_helper)
    describe_helper(app, words, command.check_only);
  else
    describe_program(app, command.settings, command.of_mounts);
  try {
    auto given = reversed_words(argc, argv);
    app.parse(given);
    command.of_mounts.stats.is_given = !is_helper && app.count("--stats") > 0;
    interpret_words(command, words);
    if (command.of_mounts.is_given()) return command;
    command.settings.options = fs::parse_options(
        words.option_lists, words.is_sloppy ? fs::Unknown::ignored : fs::Unknown::refused);
    require_mountpoint(command.settings);
    if (is_helper) adapt_helper_options(words, command.settings.options);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    complain(command.program, explanation(error, app), true);
    return kBadUsage;
  } catch (const std::exception& error) {
    const std::string& mountpoint = command.settings.mountpoint;
    complain(command.program,
             is_helper && !mountpoint.empty() ? mountpoint + ": " + error.what() : error.what(),
             false);
    return kBadUsage;
  }
  return command;
}

}  // namespace bloscfs::tools
