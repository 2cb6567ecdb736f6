#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace web {

// Writes the index of each client whose deadline is at or before `now_ms` to `expired`, in
// ascending order, and returns how many there are. Times are in milliseconds since one common
// start. `expired` must be at least as long as `deadlines_ms`, and its contents after the returned
// number are unspecified.
inline std::size_t collect_expired(std::span<const std::uint32_t> deadlines_ms,
                                   std::uint32_t now_ms, std::span<std::uint32_t> expired) {
    std::size_t count = 0;
    for (std::uint32_t client = 0; client < deadlines_ms.size(); ++client) {
        // Always written, and overwritten by the next index unless the count moves on.
        expired[count] = client;
        count += static_cast<std::size_t>(deadlines_ms[client] <= now_ms);
    }
    return count;
}

// RFC 9110 §5.6.2: whether each byte may be in a token, such as a method or a field name.
inline constexpr std::array<bool, 256> token_bytes = [] {
    std::array<bool, 256> allowed{};
    for (const char byte : std::string_view("0123456789abcdefghijklmnopqrstuvwxyz"
                                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&'*+-.^_`|~")) {
        allowed[static_cast<unsigned char>(byte)] = true;
    }
    return allowed;
}();

// The number of bytes at the beginning of the text that may be in a token.
inline std::size_t token_length(std::string_view text) {
    std::size_t length = 0;
    while (length < text.size() && token_bytes[static_cast<unsigned char>(text[length])]) {
        ++length;
    }
    return length;
}

enum class Method : unsigned char {
    unknown,
    get,
    head,
    post,
    put,
    del,
    connect,
    options,
    trace,
    patch
};

// The shortest request line, "GET / HTTP/1.1", has 14 bytes. The longest method and the space after
// it have eight.
inline constexpr std::size_t min_line = 8;

struct MethodName {
    std::string_view text;  // with the space after it, so that GETS is not taken for GET
    Method method;
};

// RFC 9110 §9.3 and RFC 5789. No two of them begin with the same four bytes.
inline constexpr std::array<MethodName, 9> methods = {{
    {"GET ", Method::get},
    {"HEAD ", Method::head},
    {"POST ", Method::post},
    {"PUT ", Method::put},
    {"DELETE ", Method::del},
    {"CONNECT ", Method::connect},
    {"OPTIONS ", Method::options},
    {"TRACE ", Method::trace},
    {"PATCH ", Method::patch},
}};

// Bytes as an unsigned number, in the byte order of this machine, as a load from memory has it.
template <class Number>
constexpr Number load(const char* bytes) {
    std::array<char, sizeof(Number)> copy{};
    for (std::size_t i = 0; i < copy.size(); ++i) {
        copy[i] = bytes[i];
    }
    return std::bit_cast<Number>(copy);
}

// Maps the first four bytes of a line to one of 16 slots.
constexpr std::size_t slot_of(std::uint32_t beginning, std::uint32_t multiplier) {
    return static_cast<std::uint32_t>(beginning * multiplier) >> 28;
}

// The smallest odd multiplier for which each method has a slot of its own: a perfect hash.
consteval std::uint32_t find_multiplier() {
    for (std::uint32_t multiplier = 1;; multiplier += 2) {
        std::array<bool, 16> taken{};
        bool collides = false;
        for (const MethodName& name : methods) {
            bool& slot = taken[slot_of(load<std::uint32_t>(name.text.data()), multiplier)];
            collides |= slot;
            slot = true;
        }
        if (!collides) {
            return multiplier;
        }
    }
}

inline constexpr std::uint32_t method_multiplier = find_multiplier();

struct MethodSlot {
    std::uint64_t mask = 0;  // selects the method and its space from a line's first eight bytes
    std::uint64_t text = 0;
    Method method = Method::unknown;
};

inline constexpr std::array<MethodSlot, 16> method_slots = [] {
    std::array<MethodSlot, 16> slots{};
    for (const MethodName& name : methods) {
        std::array<char, min_line> mask{}, text{};
        for (std::size_t i = 0; i < name.text.size(); ++i) {
            mask[i] = static_cast<char>(0xFF);
            text[i] = name.text[i];
        }
        slots[slot_of(load<std::uint32_t>(text.data()), method_multiplier)] = {
            load<std::uint64_t>(mask.data()), load<std::uint64_t>(text.data()), name.method};
    }
    return slots;
}();

// The method at the beginning of a request line, up to its first space; unknown if it is none of
// the nine. Methods are case-sensitive (RFC 9110 §9.1). The line must have at least `min_line`
// bytes.
inline Method find_method(std::string_view line) {
    std::uint32_t beginning = 0;
    std::uint64_t first_bytes = 0;
    std::memcpy(&beginning, line.data(), sizeof beginning);
    std::memcpy(&first_bytes, line.data(), sizeof first_bytes);
    const MethodSlot& slot = method_slots[slot_of(beginning, method_multiplier)];
    return (first_bytes & slot.mask) == slot.text ? slot.method : Method::unknown;
}

}  // namespace web
