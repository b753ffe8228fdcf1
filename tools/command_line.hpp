#pragma once
// The command line of b2frame: its subcommands, and their options.

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/b2frame_commands.hpp"
#include "tools/command_values.hpp"

namespace bloscfs::tools {

class CommandLine {
 public:
  /// `first` is the first word after the program's name.
  explicit CommandLine(std::string_view first);
  /// Not copyable, since the subcommands refer to this object.
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Returns the exit status of the program.
  int run(int argc, const char* const* argv);

 private:
  struct Subcommand {
    const char* name;
    void (CommandLine::*add)(const char* name);
  };

  /// Returns all subcommands, in the order of --help.
  static std::span<const Subcommand> all_subcommands();
  /// Returns the subcommands to set up for this first word. Setting up all of them would take
  /// longer than many of them run.
  static std::span<const Subcommand> needed_for(std::string_view first);
  /// Prints an error, and which --help to try.
  void complain(const std::string& what) const;
  /// Returns a check that refuses URLs, for arguments that must be local files.
  static CLI::Validator local();
  /// The exit statuses of most subcommands, for --help.
  static constexpr const char* kUsualStatuses =
      "Exit status: 0 success, 1 error, 2 wrong command line.\n";
  /// Adds a subcommand. Its --help ends with the exit statuses and `examples`, which are command
  /// lines without "b2frame" and the subcommand's name.
  CLI::App* add_command(const char* name, const char* help,
                        std::initializer_list<const char*> examples,
                        const std::string& statuses = kUsualStatuses);
  static void add_remote(CLI::App& command, RemoteOptions& options);

  // Defined in command_line_reading.cpp:

  void add_info(const char* name);
  void add_ls(const char* name);
  static void add_recursive(CLI::App& command, bool& recursive);
  /// `outputs` is what -r writes: "frames" or "files".
  static void add_tree(CLI::App& command, TreeOptions& options, const char* outputs);
  void add_extract(const char* name);
  void add_cat(const char* name);
  void add_head(const char* name);
  void add_diff(const char* name);
  static void add_json(CLI::App& command, ExtractOptions& options);
  static void add_table(CLI::App& command, ExtractOptions& options);
  void add_verify(const char* name);
  void add_report(const char* name);
  void add_advise(const char* name);
  void set_applied(const std::string& word);

  // Defined in command_line_writing.cpp:

  void add_create(const char* name);
  static void add_table_text(CLI::App& command, TableTextOptions& options);
  void add_convert(const char* name);
  void add_compact(const char* name);
  void add_pack(const char* name);
  void add_unpack(const char* name);
  void add_set_meta(const char* name);
  static void add_layers(CLI::App& command, const char* name, std::vector<NamedLayer>& layers,
                         const char* help);
  void add_recover(const char* name);
  void add_gc(const char* name);
  void add_repair(const char* name);

  CLI::App app_{"Works on Blosc2 frames without mounting them. See man b2frame-SUBCOMMAND, too.",
                "b2frame"};
  InfoOptions info_;
  LsOptions ls_;
  ExtractOptions extract_, cat_, head_;
  DiffOptions diff_;
  VerifyOptions verify_;
  AdviseOptions advise_;
  CreateOptions create_;
  ConvertOptions convert_;
  CompactOptions compact_;
  PackOptions pack_;
  SetMetaOptions set_meta_;
  RecoverOptions recover_;
  GcOptions gc_;
  RepairOptions repair_;
  ReportOptions report_;
  std::function<int()> work_;  ///< runs the chosen subcommand
};

}  // namespace bloscfs::tools
