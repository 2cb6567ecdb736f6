#include "ticket_keys.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <new>
#include <span>

namespace web {
namespace {

void fill_randomly(std::span<unsigned char> bytes) {
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) throw std::bad_alloc();
}

bool set_mac_key(EVP_MAC_CTX* mac, std::span<unsigned char> key) {
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.data(), key.size()),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_CTX_set_params(mac, params) == 1;
}

}  // namespace

TicketKeys::TicketKeys(std::chrono::seconds lifetime)
    : lifetime_(lifetime),
      current_(random_key()),
      previous_(random_key()),
      next_rotation_(Clock::now() + lifetime) {}

TicketKeys::Key TicketKeys::random_key() {
    Key key;
    fill_randomly(key.name);
    fill_randomly(key.cipher);
    fill_randomly(key.mac);
    return key;
}

// The session timeout is the time during which some key may open a ticket.
void TicketKeys::use_for(SSL_CTX* context) {
    SSL_CTX_set_app_data(context, this);
    SSL_CTX_set_tlsext_ticket_key_evp_cb(context, callback);
    SSL_CTX_set_timeout(context, 2 * lifetime_.count());
    SSL_CTX_set_num_tickets(context, 1);
}

// After a period without clients both keys may be too old.
void TicketKeys::rotate() {
    const auto now = Clock::now();
    if (now < next_rotation_) return;
    const bool forgotten = now >= next_rotation_ + lifetime_;
    previous_ = forgotten ? random_key() : current_;
    current_ = random_key();
    next_rotation_ = now + lifetime_;
}

TicketKeys::Key TicketKeys::current() {
    const std::lock_guard lock(mutex_);
    rotate();
    return current_;
}

std::optional<TicketKeys::Key> TicketKeys::named(const unsigned char* name) {
    const std::lock_guard lock(mutex_);
    rotate();
    for (const Key& key : {current_, previous_}) {
        if (std::ranges::equal(key.name, std::span(name, key.name.size()))) return key;
    }
    return std::nullopt;
}

// SSL_CTX_set_tlsext_ticket_key_evp_cb(3): 1 means a key was found, 0 that none is known, -1 a
// failure.
int TicketKeys::callback(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                         EVP_MAC_CTX* mac, int making) try {
    auto& keys = *static_cast<TicketKeys*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
    std::optional<Key> key = making ? keys.current() : keys.named(name);
    if (!key) return 0;
    if (making) {
        std::ranges::copy(key->name, name);
        fill_randomly({iv, 16});
    }
    const bool ready =
        EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key->cipher.data(), iv, making) == 1;
    return ready && set_mac_key(mac, key->mac) ? 1 : -1;
} catch (const std::bad_alloc&) {
    return -1;
}

}  // namespace web
