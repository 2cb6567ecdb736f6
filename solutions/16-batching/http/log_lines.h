#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "address.h"
#include "log_format.h"
#include "status.h"

namespace web {

/// The lines of one worker that are still to be written. Makes no system call: the owner writes
/// them once there are enough, and once a second.
class LogLines {
public:
    /// The number of bytes worth a system call.
    static constexpr std::size_t enough = 64 * 1024;
    /// More than one client's pipelined requests can add at once, plus what waits for a slow disk
    /// or pipe. Pages that were never written to take no memory.
    static constexpr std::size_t capacity = 1024 * 1024;

    explicit LogLines(LogFormat format) : format_(format) {}

    void set_time(std::chrono::sys_seconds second) { time_.set(format_, second); }

    /// Adds a line. If there is no space for it, it is counted as lost.
    void add(const LogEntry& entry);

    std::string_view view() const { return {bytes_.get(), size_}; }

    /// Removes the first `count` bytes, which have been written.
    void consume(std::size_t count);

    /// Returns how many lines were lost since the last call.
    std::size_t take_lost() { return std::exchange(lost_, 0); }

private:
    const LogFormat format_;
    LogTime time_;
    const std::unique_ptr<char[]> bytes_ = std::make_unique_for_overwrite<char[]>(capacity);
    std::size_t size_ = 0;
    std::size_t lost_ = 0;
};

/// What all lines of one client have in common, and the request whose body is being received. A
/// line is logged when the whole answer has been handed to the connection, so it states the size of
/// the body, not how many bytes the client received.
class ClientLog {
public:
    /// `lines` must outlive it.
    ClientLog(LogLines& lines, const Address& address);

    /// Logs a request that was answered or will get no answer. The views are not kept.
    void add(const LoggedHead& head, unsigned status, std::size_t bytes);

    /// Begins a request that is answered later. The head is copied, because the body will overwrite
    /// it.
    void begin(const LoggedHead& head);

    /// Whether a request has begun and not ended.
    bool is_waiting() const { return waiting_; }

    /// Its answer has begun. `bytes` bytes of the body are included, more may follow.
    void answer(Status status, std::size_t bytes) {
        status_ = std::to_underlying(status);
        bytes_ = bytes;
    }
    void sent(std::size_t bytes) { bytes_ += bytes; }

    /// Ends the request, successfully or not. Does nothing if there is none.
    void end();

private:
    LogLines* lines_;
    Address::Text address_;
    std::string kept_;  // the parts of a head, one after the other
    std::size_t line_size_ = 0;
    std::size_t referer_size_ = 0;
    std::size_t bytes_ = 0;
    unsigned status_ = 0;
    bool waiting_ = false;
};

}  // namespace web
