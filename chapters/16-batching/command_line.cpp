#include "command_line.h"

#include <getopt.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <sstream>
#include <stdexcept>

namespace web {

namespace {

constexpr std::size_t max_columns = 80;

struct Entry {
    std::string label;  // such as "--port PORT"
    std::string description;
};

std::vector<Entry> entries(const OptionTable& table) {
    std::vector<Entry> shown;
    for (const auto& option : table) {
        if (option.hidden) continue;
        const auto& value = option.default_value;
        shown.push_back({"--" + option.name + " " + option.argument,
                         option.help + (value.empty() ? "" : " (default " + value + ")")});
    }
    shown.push_back({"--help", "show this help"});
    return shown;
}

// Puts a space before each word, or a line break and an indentation where the word would go beyond
// the last column.
void append_wrapped(std::string& text, const std::vector<std::string>& words, std::size_t indent) {
    for (const auto& word : words) {
        const std::size_t column = text.size() - (text.rfind('\n') + 1);
        if (column + 1 + word.size() > max_columns) text += '\n' + std::string(indent - 1, ' ');
        text += ' ' + word;
    }
    text += '\n';
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(word);
    return words;
}

void set(const Option& option, const std::string& value) {
    try {
        option.set(value);
    } catch (const std::invalid_argument& error) {
        const std::string shown = value.empty() ? "''" : value;
        throw std::invalid_argument("--" + option.name + " " + shown + ": " + error.what());
    }
}

}  // namespace

OptionTable joined(std::initializer_list<OptionTable> tables) {
    OptionTable all;
    for (const auto& table : tables)
        all.insert(all.end(), table.begin(), table.end());
    return all;
}

bool parse_options(int argc, char** argv, const OptionTable& table) {
    constexpr int help = 1;
    constexpr int first = 256;  // above the characters that getopt_long(3) returns for errors
    std::vector<::option> known{{"help", no_argument, nullptr, help}};
    for (int index = first; const auto& option : table)
        known.push_back({option.name.c_str(), required_argument, nullptr, index++});
    known.push_back({});
    for (int found; (found = ::getopt_long(argc, argv, "", known.data(), nullptr)) != -1;) {
        if (found == help) {
            std::fputs(help_text(table).c_str(), stdout);
            return false;
        }
        if (found < first) throw std::invalid_argument("see --help");
        set(table[static_cast<std::size_t>(found - first)], optarg);
    }
    if (optind < argc) throw std::invalid_argument(std::string(argv[optind]) + ": see --help");
    return true;
}

std::string help_text(const OptionTable& table) {
    const auto shown = entries(table);
    std::vector<std::string> synopsis;
    std::size_t width = 0;
    for (const auto& [label, description] : shown) {
        synopsis.push_back("[" + label + "]");
        width = std::max(width, label.size());
    }
    std::string text = "usage: server";
    append_wrapped(text, synopsis, text.size() + 1);
    text += '\n';
    for (const auto& [label, description] : shown) {
        text += "  " + label + std::string(width + 1 - label.size(), ' ');
        append_wrapped(text, words_of(description), width + 4);
    }
    return text;
}

std::uint64_t parse_number(const std::string& text, std::uint64_t min, std::uint64_t max) {
    std::uint64_t number{};
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stopped != end || number < min || number > max) {
        throw std::invalid_argument("must be a whole number from " + std::to_string(min) + " to " +
                                    std::to_string(max));
    }
    return number;
}

Option text_option(std::string name, std::string argument, std::string help,
                   std::string& variable) {
    return {std::move(name), std::move(argument), std::move(help), variable,
            [&variable](const std::string& value) { variable = value; }};
}

Option seconds_option(std::string name, std::string help, std::chrono::seconds& variable) {
    return {std::move(name), "SECONDS", std::move(help), std::to_string(variable.count()),
            [&variable](const std::string& value) {
                constexpr auto max = std::numeric_limits<std::uint32_t>::max();
                variable = std::chrono::seconds(parse_number(value, 0, max));
            }};
}

Option list_option(std::string name, std::array<std::chrono::seconds*, 5> variables) {
    const auto set_all = [variables](const std::string& value) {
        std::array<std::uint32_t, 5> numbers;
        const char* from = value.c_str();
        const char* const end = from + value.size();
        for (auto& number : numbers) {
            const auto [stopped, error] = std::from_chars(from, end, number);
            const bool right = &number == &numbers.back() ? stopped == end : *stopped == ',';
            if (error != std::errc{} || !right) throw std::invalid_argument("must be five numbers");
            from = stopped + 1;
        }
        for (std::size_t i = 0; i < numbers.size(); ++i)
            *variables[i] = std::chrono::seconds(numbers[i]);
    };
    return {std::move(name), {}, {}, {}, set_all, true};
}

}  // namespace web
