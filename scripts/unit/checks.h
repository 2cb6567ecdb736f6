#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace unit {

/// One check of a test program. `run` throws a std::string that describes the problem, if any.
struct Check {
    std::string_view name;
    void (*run)();
};

/// Runs the checks whose names contain the first argument, or all, and prints a line for each that
/// fails. Returns the exit code of the program.
inline int run(std::span<const Check> checks, int argc, char** argv) {
    const std::string_view wanted = argc > 1 ? argv[1] : "";
    bool ok = true;
    for (const auto& [name, run] : checks) {
        if (!name.contains(wanted)) continue;
        try {
            run();
        } catch (const std::string& problem) {
            ok = false;
            std::fprintf(stderr, "FAILED %s: %s\n", std::string(name).c_str(), problem.c_str());
        }
    }
    return ok ? 0 : 1;
}

}  // namespace unit
