// However the bytes of a connection are split, and however its output is taken, the answers must be
// the same as for all bytes at once.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <format>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "app.h"
#include "connection.h"
#include "pieces.h"

namespace web {
class BufferPool;
class CommonHeaders;
}  // namespace web

namespace {

using Connection = web::Connection;
using fuzz::PieceSize;

/// From chapter 12 on a response may begin before its request has ended.
template <typename R>
constexpr bool may_answer_early = requires(const R& request) { request.chunked; };

constexpr std::string_view interim = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view common_headers =
    "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
    "X-Content-Type-Options: nosniff\r\n";

template <typename C>
struct OnItsOwn {
    std::unique_ptr<web::Handler> handler = web::make_app();
    C connection{*handler};
};

/// From chapter 6 on a connection borrows its buffers from a pool.
template <typename Pool>
struct OfAPool {
    Pool pool;
    std::unique_ptr<web::Handler> handler = web::make_app();
    Connection connection{*handler, pool};
};

/// From chapter 9 on every response contains the time.
template <typename Pool, typename Time>
struct AtATime {
    Pool pool;
    Time common_headers;
    std::unique_ptr<web::Handler> handler = web::make_app();
    Connection connection{*handler, pool, common_headers};
};

template <typename C, typename Pool, typename Time>
using ClientOf =
    std::conditional_t<std::is_constructible_v<C, web::Handler&>, OnItsOwn<C>,
                       std::conditional_t<std::is_constructible_v<C, web::Handler&, Pool&>,
                                          OfAPool<Pool>, AtATime<Pool, Time>>>;

using Client = ClientOf<Connection, web::BufferPool, web::CommonHeaders>;

/// Consumes output as a socket does that takes it in pieces.
void take_output(Connection& connection, const PieceSize& next_size, std::string& answers) {
    while (connection.has_output()) {
        std::string offered;
        for (const iovec& part : connection.output().bytes)
            offered.append(static_cast<const char*>(part.iov_base), part.iov_len);
        const std::size_t taken = std::clamp<std::size_t>(next_size(), 1, offered.size());
        answers.append(offered, 0, taken);
        connection.sent(taken);
    }
}

/// Returns all answers to these bytes, and what the connection waits for afterwards.
std::string answers_to(std::string_view text, const PieceSize& next_size) {
    Client client;
    Connection& connection = client.connection;
    std::string answers;
    while (!text.empty() && connection.state().waiting != web::Waiting::peer_close) {
        const auto space = connection.receive_buffer();
        const std::size_t limit = std::min(text.size(), space.size());
        const std::size_t wanted = std::clamp<std::size_t>(next_size(), 1, limit);
        const std::size_t size = text.copy(space.data(), wanted);
        text.remove_prefix(size);
        connection.received(size);
        take_output(connection, next_size, answers);
    }
    answers += std::format("waits {}", static_cast<int>(connection.state().waiting));
    connection.end_of_input();
    take_output(connection, next_size, answers);
    return answers;
}

/// Whether 100 Continue is sent depends on how much of the body came with the head.
std::string without_interim(std::string answers) {
    for (std::size_t at = 0; (at = answers.find(interim, at)) != std::string::npos;)
        answers.erase(at, interim.size());
    return answers;
}

void replace_all(std::string& text, std::string_view old, std::string_view now) {
    for (std::size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += now.size())
        text.replace(at, old.size(), now);
}

std::string error_head(web::Status status, std::string_view type, std::size_t size) {
    return std::format("HTTP/1.1 {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\n",
                       web::status_text(status), type, size);
}

std::string error_page(std::string_view status) {
    return std::format(
        "<!doctype html>\n"
        "<html lang=\"en\">\n"
        "<title>{0}</title>\n"
        "<h1>{0}</h1>\n"
        "</html>\n",
        status);
}

/// From chapter 12 on an echo may be chunked, with one chunk per piece. Joins the chunks and marks
/// the end.
std::string with_joined_chunks(std::string answers) {
    constexpr std::string_view coded = "\r\nTransfer-Encoding: chunked\r\n";
    constexpr std::string_view head_end = "\r\n\r\n";
    for (std::size_t at = 0; (at = answers.find(coded, at)) != std::string::npos;) {
        at = answers.find(head_end, at);
        if (at == std::string::npos) break;  // an echoed body that only looks like such a head
        at += head_end.size();
        for (std::size_t size = 1; size > 0; at += size) {
            const char* const last = answers.data() + answers.size();
            const auto [end, error] = std::from_chars(&answers[at], last, size, 16);
            const auto left = static_cast<std::size_t>(last - end);
            if (error != std::errc{} || left < 2 || size > left - 2) break;
            const auto line = static_cast<std::size_t>(end - &answers[at]) + 2;
            answers.erase(at, line);
            if (size == 0) answers.insert(at, "(end)");
            answers.erase(at + size, 2);
        }
    }
    return answers;
}

/// The statuses of all refusals. Where chunks are read, 411 is not one of them.
template <typename S>
std::vector<S> refusals() {
    using enum web::Status;
    std::vector<S> all{bad_request,       not_found,       method_not_allowed,
                       content_too_large, uri_too_long,    expectation_failed,
                       fields_too_large,  not_implemented, version_not_supported};
    if constexpr (requires { S::length_required; }) all.push_back(S::length_required);
    return all;
}

/// From chapter 9 on, answers have fields that are constant here, and errors have pages. Removes
/// both, and Allow from a 405: a refused HEAD has no page, and how early a parser recognises a
/// broken line may differ.
std::string as_before(std::string answers) {
    replace_all(answers, common_headers, "");
    for (const std::string_view line : {"Allow: GET, HEAD\r\n", "Allow: POST\r\n"}) {
        replace_all(answers, line, "");  // between the status line and the rest of a head
    }
    for (const web::Status status : refusals<web::Status>()) {
        const std::string page = error_page(web::status_text(status));
        const std::string text = std::format("{}\n", web::status_text(status));
        replace_all(answers, error_head(status, "text/html", page.size()),
                    error_head(status, "text/plain", text.size()));
        replace_all(answers, page, "");
        replace_all(answers, text, "");
    }
    return answers;
}

std::string judge(std::string_view text, const PieceSize& next_size) {
    return as_before(with_joined_chunks(without_interim(answers_to(text, next_size))));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    // An echo of these texts could be taken for one of the server's own.
    if (text.contains("100 Continue") || text.contains("nosniff")) return 0;
    // A client that expects 100 and is refused is disconnected, unless the body was received too.
    if (may_answer_early<web::Request> && fuzz::lower_case(text).contains("expect")) return 0;
    fuzz::cut(text, judge);
    return 0;
}
