// GIVEN(15), for you to use: nothing to write here. Read it first.
#pragma once

#include <openssl/types.h>

#include <array>
#include <chrono>
#include <mutex>
#include <optional>

namespace web {

/// What tickets are encrypted with (RFC 5077 §4, RFC 8446 §4.6.1). A client that brings one back
/// resumes its session, whichever worker it meets, and the server has kept nothing of it. Who gets
/// hold of a key can read tickets, so none lives long. All threads share it.
class TicketKeys {
public:
    /// Each key makes tickets for so long, and opens them for as long again.
    explicit TicketKeys(std::chrono::seconds lifetime);

    /// How a context's tickets are made and opened. Must outlive it.
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
    std::mutex mutex_;  // guards what follows
    Key current_;
    Key previous_;
    Clock::time_point next_rotation_;
};

}  // namespace web
