#pragma once

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "certificates.h"
#include "ticket_keys.h"

namespace identity {

template <typename Write>
std::string temporary_file(Write write) {
    std::string name = "/tmp/hotpath-tls-XXXXXX";
    std::FILE* const file = ::fdopen(::mkstemp(name.data()), "w");
    if (file == nullptr || write(file) != 1) std::abort();
    std::fclose(file);
    return name;
}

/// Self-signed, which is sufficient here.
inline web::TlsOptions::Identity make_identity() {
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const cert = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(cert), -60);
    X509_gmtime_adj(X509_getm_notAfter(cert), 24 * 60 * 60);
    X509_set_pubkey(cert, key);
    if (X509_sign(cert, key, EVP_sha256()) <= 0) std::abort();
    web::TlsOptions::Identity identity{
        temporary_file([&](std::FILE* file) { return PEM_write_X509(file, cert); }),
        temporary_file([&](std::FILE* file) {
            return PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
        }),
    };
    X509_free(cert);
    EVP_PKEY_free(key);
    return identity;
}

/// The certificates of a server, read once.
inline std::shared_ptr<const web::Certificates> certificates() {
    static web::TicketKeys ticket_keys{std::chrono::seconds(3600)};
    static const auto read = [] {
        const auto identity = make_identity();
        auto made = std::make_shared<const web::Certificates>(std::vector{identity}, ticket_keys);
        ::unlink(identity.cert.c_str());
        ::unlink(identity.key.c_str());
        return made;
    }();
    return read;
}

}  // namespace identity
