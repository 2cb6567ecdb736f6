#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "log_line.h"
#include "status.h"

namespace web {

/// The lines of one worker that are still to be written. Makes no system call: whoever owns it
/// writes what it holds, once that is enough, and each second.
class LogLines {
public:
    /// Worth a system call.
    static constexpr std::size_t enough = 64 * 1024;
    /// More than one client's requests that come at once can add to it, and what waits for a disk
    /// or a pipe that takes nothing. What was never written to takes no memory.
    static constexpr std::size_t capacity = 1024 * 1024;

    explicit LogLines(LogFormat format) : format_(format) {}

    void set_time(std::chrono::sys_seconds second) { time_.set(format_, second); }

    /// One that there is no room for is lost, and counted.
    void add(const LogEntry& entry);

    std::string_view view() const { return {bytes_.get(), size_}; }

    /// The first `count` bytes have been written.
    void consume(std::size_t count);

    /// How many were lost since this was asked last.
    std::size_t take_lost() { return std::exchange(lost_, 0); }

private:
    const LogFormat format_;
    LogTime time_;
    const std::unique_ptr<char[]> bytes_ = std::make_unique_for_overwrite<char[]>(capacity);
    std::size_t size_ = 0;
    std::size_t lost_ = 0;
};

/// What one client's lines have in common, and what is known of the request whose body is coming.
/// A line is made when the answer is given to the connection to send, all of it; so it tells how
/// many bytes the body has, and not how many of them the client took.
class ClientLog {
public:
    /// `lines` must outlive it. The address is one of IPv6, or of IPv4 mapped into it (RFC 4291
    /// §2.5.5.2).
    ClientLog(LogLines& lines, std::span<const std::uint8_t, 16> address);

    /// A request that was answered, or has none. The views need not last.
    void add(const LoggedHead& head, unsigned status, std::size_t bytes);

    /// The head of one that is answered later. It is kept: its place is for the body now.
    void begin(const LoggedHead& head);

    /// Whether there is one.
    bool is_waiting() const { return waiting_; }

    /// Its answer has begun, with so many bytes of its body; more of them follow.
    void answer(Status status, std::size_t bytes) {
        status_ = std::to_underlying(status);
        bytes_ = bytes;
    }
    void sent(std::size_t bytes) { bytes_ += bytes; }

    /// It has ended, well or not. If there is none, nothing happens.
    void end();

private:
    LogLines* lines_;
    std::array<char, 46> address_{};  // INET6_ADDRSTRLEN
    std::string kept_;                // the parts of a head, one behind the other
    std::size_t line_size_ = 0;
    std::size_t referer_size_ = 0;
    std::size_t bytes_ = 0;
    unsigned status_ = 0;
    bool waiting_ = false;
};

}  // namespace web
