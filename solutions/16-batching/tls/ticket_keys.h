#pragma once

#include <openssl/types.h>

#include <array>
#include <chrono>
#include <mutex>
#include <optional>

namespace web {

/// The keys that encrypt session tickets (RFC 5077 §4, RFC 8446 §4.6.1). A client that returns a
/// ticket resumes its session on any worker, and the server stores nothing for it. Keys are
/// short-lived, because a stolen key can read its tickets. Shared by all threads.
class TicketKeys {
public:
    /// Each key makes tickets for `lifetime`, and opens them for the same time again.
    explicit TicketKeys(std::chrono::seconds lifetime);

    /// Makes the context use these keys for its tickets. Must outlive the context.
    void use_for(SSL_CTX* context);

private:
    using Clock = std::chrono::steady_clock;

    struct Key {
        std::array<unsigned char, 16> name;
        std::array<unsigned char, 32> cipher;
        std::array<unsigned char, 32> mac;
    };

    static Key random_key();
    static int callback(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                        EVP_MAC_CTX* mac, int making);

    void rotate();
    Key current();
    std::optional<Key> named(const unsigned char* name);

    const std::chrono::seconds lifetime_;
    std::mutex mutex_;  // protects the members below
    Key current_;
    Key previous_;
    Clock::time_point next_rotation_;
};

}  // namespace web
