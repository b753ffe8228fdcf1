#include "tools/help_layout.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fs/options/help_rows.hpp"

namespace bloscfs::tools {
namespace {

/// Longer names of options get a line of their own.
constexpr std::size_t kWidestColumn = 24;

class HelpLayout : public CLI::FormatterBase {
 public:
  explicit HelpLayout(std::string arguments) : arguments_(std::move(arguments)) {}

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    std::string text = usage(*app, name) + app->get_description() + "\n";
    // Omits the empty line before the list of subcommands, so that the whole help fits on a screen.
    if (subcommands(*app).empty()) text += "\n";
    const std::size_t column = column_of(*app);
    for (const CLI::App* command : subcommands(*app))
      text += fs::help_row(command->get_name(), command->get_description(), column);
    text += rows(*app, column, [](const CLI::Option& o) { return o.get_positional(); });
    // Options that every command has (--help, --version) follow the command's own options.
    for (const bool is_first : {true, false})
      text += rows(*app, column, [&](const CLI::Option& option) {
        return option.nonpositional() && option.get_group() != kUrlOptions &&
               is_first != is_of_all(*app, option);
      });
    const std::string for_urls = rows(
        *app, column, [](const CLI::Option& option) { return option.get_group() == kUrlOptions; });
    if (!for_urls.empty()) text += std::string(kUrlOptions) + ":\n" + for_urls;
    if (!app->get_footer().empty()) text += app->get_footer() + "\n";
    return text;
  }

 private:
  static bool is_of_all(const CLI::App& app, const CLI::Option& option) {
    return &option == app.get_help_ptr() || &option == app.get_version_ptr();
  }

  static std::vector<const CLI::App*> subcommands(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
  }

  static std::vector<const CLI::Option*> options(const CLI::App& app) {
    return app.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
  }

  static std::string name_of(const CLI::Option& option) {
    if (option.get_positional()) return option.get_name(true, false);
    std::string name = option.get_name(false, true);
    if (const std::size_t comma = name.find(','); comma != std::string::npos)
      name.insert(comma + 1, " ");
    if (!option.get_option_text().empty()) name += " " + option.get_option_text();
    return name;
  }

  /// True if the help lists an option that the user may omit.
  static bool has_choices(const CLI::App& app) {
    const auto all = options(app);
    return std::any_of(all.begin(), all.end(), [&](const CLI::Option* option) {
      return option->nonpositional() && !option->get_required() && !is_of_all(app, *option);
    });
  }

  std::string usage(const CLI::App& app, const std::string& name) const {
    std::string text = "Usage: " + name;
    if (!subcommands(app).empty()) return text + " SUBCOMMAND [OPTION]... ARGUMENT...\n";
    if (has_choices(app)) text += " [OPTION]...";
    if (!arguments_.empty()) return text + " " + arguments_ + "\n";
    for (const CLI::Option* option : options(app))
      if (option->get_positional())
        text += " " + name_of(*option) +
                (option->get_expected_max() >= CLI::detail::expected_max_vector_size ? "..." : "");
    for (const CLI::Option* option : options(app))
      if (option->nonpositional() && option->get_required()) text += " " + name_of(*option);
    return text + "\n";
  }

  static std::size_t column_of(const CLI::App& app) {
    std::size_t width = 0;
    for (const CLI::App* command : subcommands(app))
      width = std::max(width, command->get_name().size());
    for (const CLI::Option* option : options(app)) {
      const std::size_t length = name_of(*option).size();
      if (length + 4 <= kWidestColumn) width = std::max(width, length);
    }
    return width + 4;
  }

  template <typename Wanted>
  static std::string rows(const CLI::App& app, std::size_t column, Wanted is_wanted) {
    std::string text;
    for (const CLI::Option* option : options(app))
      if (is_wanted(*option))
        text += fs::help_row(name_of(*option), option->get_description(), column);
    return text;
  }

  std::string arguments_;  ///< of the usage line; empty: derived from the options
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_layout(std::string arguments) {
  return std::make_shared<HelpLayout>(std::move(arguments));
}

}  // namespace bloscfs::tools
