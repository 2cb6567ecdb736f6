#include <benchmark/benchmark.h>
#include <task.h>  // from the tree that is timed, not the one next to this file
#include <two_passes.h>

#include <cstdlib>
#include <string>

#include "counted.h"

namespace {

const std::string browser =
    "GET / HTTP/1.1\r\n"
    "Host: localhost:8080\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
    "Accept-Language: en-GB,en;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Upgrade-Insecure-Requests: 1\r\n"
    "Connection: keep-alive\r\n"
    "\r\n";

// A short request with one field of this many bytes, such as a cookie.
std::string with_field(std::size_t size) {
    return "GET / HTTP/1.1\r\nHost: localhost:8080\r\nCookie: " + std::string(size, 'c') +
           "\r\n\r\n";
}

template <class Find>
void add(const std::string& name, const std::string& head, Find find) {
    auto* const bench =
        benchmark::RegisterBenchmark(name.c_str(), [head, find](benchmark::State& state) {
            for (auto _ : state) {
                const web::HeadEnd end = find(head);
                if (end.size != head.size()) state.SkipWithError("the end was not found");
                benchmark::DoNotOptimize(end.size);
            }
        });
    bench->Apply(lab::counted);
}

// Every variant that this processor has, by its step, the one that is chosen, and chapter 6's way.
void add_all(const std::string& name, const std::string& head) {
    for (const web::Variant& each : web::variants_up_to(web::widest_step())) {
        const auto find = [find = each.find](const std::string& bytes) {
            return web::find_head_end(bytes, find);
        };
        add(name + "/" + std::to_string(each.step), head, find);
    }
    const auto find_chosen = [](const std::string& bytes) { return web::find_head_end(bytes); };
    add(name + "/chosen", head, find_chosen);
    add(name + "/two_passes", head, web::find_head_end_in_two_passes);
}

const bool added = [] {
    add_all("browser", browser);
    add_all("cookie_4096", with_field(4096));
    if (std::getenv("HOTPATH_ITERATIONS") != nullptr) {  // for the curve, which is only counted
        for (const std::size_t size : {0uz, 16uz, 64uz, 256uz, 1024uz, 16'384uz})
            add_all("cookie_" + std::to_string(size), with_field(size));
    }
    return true;
}();

}  // namespace
