#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace web {

/// An option that takes a value. `set` throws std::invalid_argument if it refuses the value, with
/// the reason alone: parse_options() adds the option's name.
struct Option {
    std::string name;      // without its two hyphens
    std::string argument;  // what --help calls the value, such as SECONDS
    std::string help;
    std::string default_value;  // empty: --help shows none
    std::function<void(const std::string& value)> set;
    bool hidden = false;  // not in --help
};

/// The only description of a command line: parsing and --help both follow from it. Its options
/// refer to the variables that they set.
using OptionTable = std::vector<Option>;

OptionTable joined(std::initializer_list<OptionTable> tables);

/// Sets the variables from left to right, so the last of several equal options counts. If --help is
/// among them, prints the help and returns false. Throws std::invalid_argument.
bool parse_options(int argc, char** argv, const OptionTable& table);

std::string help_text(const OptionTable& table);

/// Throws std::invalid_argument if the text is anything but a number within the bounds.
std::uint64_t parse_number(const std::string& text, std::uint64_t min, std::uint64_t max);

// Options for the types that occur often. The default is the value that the variable has now.

Option text_option(std::string name, std::string argument, std::string help, std::string& variable);
Option seconds_option(std::string name, std::string help, std::chrono::seconds& variable);

template <std::unsigned_integral Number>
Option number_option(std::string name, std::string argument, std::string help, Number& variable,
                     std::type_identity_t<Number> min = 0) {
    return {std::move(name), std::move(argument), std::move(help), std::to_string(variable),
            [&variable, min](const std::string& value) {
                constexpr Number max = std::numeric_limits<Number>::max();
                variable = static_cast<Number>(parse_number(value, min, max));
            }};
}

/// A hidden option for several variables at once, as in 60,30,10,2,1.
Option list_option(std::string name, std::array<std::chrono::seconds*, 5> variables);

}  // namespace web
