// Finds the methods of many request lines in one of several ways. The first argument is the way,
// the second says that one line in so many is not a GET, and the third how often all are found.
// Prints the nanoseconds of processor time that a line takes.
#include <task.h>  // the table: the solution of the lab on branches

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <string_view>
#include <vector>

namespace {

using web::Method;

constexpr std::array<std::string_view, 9> lines = {
    "GET / HTTP/1.1",     "HEAD / HTTP/1.1",    "POST /echo HTTP/1.1",
    "PUT /a HTTP/1.1",    "DELETE /a HTTP/1.1", "CONNECT a:443 HTTP/1.1",
    "OPTIONS * HTTP/1.1", "TRACE / HTTP/1.1",   "PATCH /a HTTP/1.1"};

// One comparison after another, GET first.
Method chain(std::string_view line) {
    if (line.starts_with("GET ")) return Method::get;
    if (line.starts_with("HEAD ")) return Method::head;
    if (line.starts_with("POST ")) return Method::post;
    if (line.starts_with("PUT ")) return Method::put;
    if (line.starts_with("DELETE ")) return Method::del;
    if (line.starts_with("CONNECT ")) return Method::connect;
    if (line.starts_with("OPTIONS ")) return Method::options;
    if (line.starts_with("TRACE ")) return Method::trace;
    if (line.starts_with("PATCH ")) return Method::patch;
    return Method::unknown;
}

// The length of the method selects those that have it.
Method by_length(std::string_view line) {
    std::size_t length = 0;
    while (length < web::min_line && line[length] != ' ') {
        ++length;
    }
    const std::string_view name = line.substr(0, length);
    switch (length) {
        case 3: return name == "GET" ? Method::get : name == "PUT" ? Method::put : Method::unknown;
        case 4:
            return name == "HEAD" ? Method::head : name == "POST" ? Method::post : Method::unknown;
        case 5:
            return name == "TRACE"   ? Method::trace
                   : name == "PATCH" ? Method::patch
                                     : Method::unknown;
        case 6: return name == "DELETE" ? Method::del : Method::unknown;
        case 7:
            return name == "CONNECT"   ? Method::connect
                   : name == "OPTIONS" ? Method::options
                                       : Method::unknown;
        default: return Method::unknown;
    }
}

// The first byte selects the method, or two of them.
Method by_first_byte(std::string_view line) {
    const auto either = [line](std::string_view name, Method method) {
        return line.starts_with(name) ? method : Method::unknown;
    };
    switch (line[0]) {
        case 'G': return either("GET ", Method::get);
        case 'H': return either("HEAD ", Method::head);
        case 'P':
            switch (line[1]) {
                case 'O': return either("POST ", Method::post);
                case 'U': return either("PUT ", Method::put);
                default: return either("PATCH ", Method::patch);
            }
        case 'D': return either("DELETE ", Method::del);
        case 'C': return either("CONNECT ", Method::connect);
        case 'O': return either("OPTIONS ", Method::options);
        case 'T': return either("TRACE ", Method::trace);
        default: return Method::unknown;
    }
}

// The line's first eight bytes as one integer, compared under a mask, GET first.
Method integers(std::string_view line) {
    struct Known {
        std::uint64_t mask, text;
        Method method;
    };
    static constexpr auto known = [] {
        std::array<Known, web::methods.size()> found{};
        for (std::size_t i = 0; i < found.size(); ++i) {
            std::array<char, web::min_line> mask{}, text{};
            for (std::size_t at = 0; at < web::methods[i].text.size(); ++at) {
                mask[at] = static_cast<char>(0xFF);
                text[at] = web::methods[i].text[at];
            }
            found[i] = {web::load<std::uint64_t>(mask.data()),
                        web::load<std::uint64_t>(text.data()), web::methods[i].method};
        }
        return found;
    }();
    std::uint64_t first = 0;
    std::memcpy(&first, line.data(), sizeof first);
    for (const Known& each : known) {
        if ((first & each.mask) == each.text) return each.method;
    }
    return Method::unknown;
}

using Form = Method (*)(std::string_view);

volatile unsigned result;  // keeps the compiler from leaving out the work

double now_ns() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// A template, so that each form is inlined into a loop of its own.
template <Form form>
void find_all(const std::vector<std::string_view>& requests, std::size_t times) {
    unsigned sum = 0;
    for (; times > 0; --times) {
        for (const std::string_view line : requests) {
            sum += static_cast<unsigned>(form(line));
        }
    }
    result = sum;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) {
        return 1;
    }
    const std::string_view name = arguments[1];
    const auto others = std::strtoul(arguments[2], nullptr, 10);
    const auto times = std::strtoul(arguments[3], nullptr, 10);
    std::vector<std::string_view> requests(65'536);
    std::minstd_rand random(7);
    for (std::string_view& line : requests) {
        const std::size_t drawn = random() >> 8;
        line = drawn % others == 0 ? lines[drawn / others % lines.size()] : lines[0];
    }
    const auto find = name == "chain"      ? find_all<chain>
                      : name == "length"   ? find_all<by_length>
                      : name == "byte"     ? find_all<by_first_byte>
                      : name == "integers" ? find_all<integers>
                      : name == "table"    ? find_all<web::find_method>
                                           : nullptr;
    if (find == nullptr) {
        return 1;
    }
    find(requests, 1);
    const double before = now_ns();
    find(requests, times);
    std::printf("%.4f\n", (now_ns() - before) / static_cast<double>(times * requests.size()));
}
