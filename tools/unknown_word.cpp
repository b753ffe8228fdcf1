#include "tools/unknown_word.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "fs/options/nearest_name.hpp"
#include "fs/options/options.hpp"

namespace bloscfs::tools {
namespace {

/// Returns the option names with their dashes, or the subcommands.
std::vector<std::string> known_words(const CLI::App& app, bool of_options) {
  std::vector<std::string> words;
  if (of_options) {
    for (const CLI::Option* option : app.get_options())
      for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  } else {
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
      words.push_back(command->get_name());
  }
  return words;
}

/// Returns the option if the error says that its value is missing at the end of the line; else
/// null.
const CLI::Option* option_without_value(const CLI::ParseError& error, const CLI::App& app) {
  const std::string_view what = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr || !what.ends_with(" missing"))
    return nullptr;
  return app.get_option_no_throw(std::string(what.substr(0, what.find(':'))));
}

/// Returns "-o cache_size=" for "--cache-size 1G", and nullopt for other words.
std::optional<std::string> mount_option(std::string word, const CLI::App& app) {
  if (app.get_name() != "bloscfs" || !word.starts_with("--")) return std::nullopt;
  std::ranges::replace(word, '-', '_');
  const auto form = fs::option_form(std::string_view(word).substr(2));
  return form ? std::optional("-o " + *form) : std::nullopt;
}

/// True if the command needs -o, which is not given.
bool lacks_output(const CLI::App& app) {
  const CLI::Option* const output = app.get_option_no_throw("-o");
  return output != nullptr && output->get_required() && output->count() == 0;
}

/// Returns a message about a word that `app` does not know.
std::string about(const std::string& word, const CLI::App& app) {
  const bool is_option = word.starts_with('-');
  const auto known = known_words(app, is_option);
  const std::string name = word.substr(0, word.find('='));
  auto nearest = mount_option(name, app);
  if (!nearest) nearest = fs::nearest_name(name, known);
  if (!is_option && known.empty() && lacks_output(app))
    return "the option -o is missing: -o " + word;
  const std::string what = is_option       ? "unknown option "
                           : known.empty() ? "one argument too many: "
                                           : "unknown subcommand ";
  return what + word + (nearest ? " (did you mean " + *nearest + "?)" : "");
}

}  // namespace

std::string explanation(const CLI::ParseError& error, const CLI::App& app) {
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const auto chosen = app.get_subcommands();
  const CLI::App& at = chosen.empty() ? app : *chosen.front();
  if (const CLI::Option* const option = option_without_value(error, at))
    return option->get_name() + " needs a value" +
           (option->get_option_text().empty() ? "" : ": " + option->get_option_text());
  if (!is_extra && dynamic_cast<const CLI::RequiredError*>(&error) == nullptr) return error.what();
  const std::vector<std::string> words = at.remaining();
  return words.empty() ? error.what() : about(words.front(), at);
}

}  // namespace bloscfs::tools
