#include "certificates.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace web {
namespace {

/// Throws, because the file of an option can't be used.
[[noreturn]] void refuse(const std::string& option, const std::string& file,
                         const std::string& why) {
    ERR_clear_error();
    throw std::invalid_argument(option + " " + file + ": " + why);
}

// The first of several errors is the cause.
std::string reason() {
    const unsigned long error = ERR_peek_error();
    if (ERR_SYSTEM_ERROR(error)) return std::generic_category().message(ERR_GET_REASON(error));
    const char* const text = ERR_reason_error_string(error);
    return text ? text : "cannot be read";
}

// A server can't ask anyone for a pass phrase, so it only notes that one was needed.
int record_passphrase_request(char*, int, int, void* asked) {
    *static_cast<bool*>(asked) = true;
    return -1;
}

void use_cert(SSL_CTX* context, const std::string& file) {
    if (SSL_CTX_use_certificate_chain_file(context, file.c_str()) != 1) {
        refuse("--cert", file, reason());
    }
    const X509* const cert = SSL_CTX_get0_certificate(context);
    if (X509_cmp_current_time(X509_get0_notAfter(cert)) < 0) refuse("--cert", file, "has expired");
    if (X509_cmp_current_time(X509_get0_notBefore(cert)) > 0) {
        refuse("--cert", file, "is not valid yet");
    }
}

void use_key(SSL_CTX* context, const TlsOptions::Identity& identity) {
    bool asked = false;
    SSL_CTX_set_default_passwd_cb(context, record_passphrase_request);
    SSL_CTX_set_default_passwd_cb_userdata(context, &asked);
    const char* const file = identity.key.c_str();
    const bool read = SSL_CTX_use_PrivateKey_file(context, file, SSL_FILETYPE_PEM) == 1;
    SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
    if (read && SSL_CTX_check_private_key(context) == 1) return;
    if (asked) refuse("--key", identity.key, "has a pass phrase, which a server can't ask for");
    const bool other = read || ERR_GET_LIB(ERR_peek_error()) == ERR_LIB_X509;
    refuse("--key", identity.key, other ? "is not the key of --cert " + identity.cert : reason());
}

void use(SSL_CTX* context, const TlsOptions::Identity& identity) {
    use_cert(context, identity.cert);
    use_key(context, identity);
}

/// The subjectAltName of the current certificate; nullptr if it has none.
const ASN1_OCTET_STRING* names_of(const SSL_CTX* context) {
    const X509* const cert = SSL_CTX_get0_certificate(context);
    const int index = X509_get_ext_by_NID(cert, NID_subject_alt_name, -1);
    return index < 0 ? nullptr : X509_EXTENSION_get_data(X509_get_ext(cert, index));
}

bool have_same_names(const SSL_CTX* one, const SSL_CTX* other) {
    const ASN1_OCTET_STRING* const names = names_of(one);
    const ASN1_OCTET_STRING* const others = names_of(other);
    return names && others && ASN1_OCTET_STRING_cmp(names, others) == 0;
}

int key_type(const SSL_CTX* context) {
    return EVP_PKEY_get_base_id(SSL_CTX_get0_privatekey(context));
}

bool has_key_of(SSL_CTX* context, int type) {
    long found = SSL_CTX_set_current_cert(context, SSL_CERT_SET_FIRST);
    while (found == 1 && key_type(context) != type)
        found = SSL_CTX_set_current_cert(context, SSL_CERT_SET_NEXT);
    return found == 1;
}

// RFC 7301 §3.2: a client that offers only protocols that we don't speak gets an alert.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned offered_size, void*) {
    constexpr std::string_view ours = "\x08http/1.1\x08http/1.0";
    const auto* const known = reinterpret_cast<const unsigned char*>(ours.data());
    const int result = SSL_select_next_proto(const_cast<unsigned char**>(chosen), size, known,
                                             ours.size(), offered, offered_size);
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// The server chooses the cheapest cipher, since all of them are secure. A client without AES
// instructions shows that by listing ChaCha20 first.
void set_protocols(SSL_CTX* context) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                                     SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_ciphersuites(context,
                             "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
                             "TLS_CHACHA20_POLY1305_SHA256");
    SSL_CTX_set_cipher_list(context, "ECDHE+AES128+AESGCM:ECDHE+AESGCM:ECDHE+CHACHA20");
}

}  // namespace

void Certificates::Free::operator()(SSL_CTX* context) const {
    SSL_CTX_free(context);
}

Certificates::Certificates(const std::vector<TlsOptions::Identity>& identities,
                           TicketKeys& ticket_keys) {
    for (const auto& identity : identities) {
        Context context = make_context(ticket_keys);
        use(context.get(), identity);
        SSL_CTX* const same = of_names(context.get());
        if (!same) {
            contexts_.push_back(std::move(context));
        } else if (!has_key_of(same, key_type(context.get()))) {
            use(same, identity);
        } else {
            refuse("--cert", identity.cert, "has host names and type of key of an earlier --cert");
        }
    }
    SSL_CTX_set_tlsext_servername_callback(first(), choose);
    SSL_CTX_set_tlsext_servername_arg(first(), this);
}

Certificates::Context Certificates::make_context(TicketKeys& ticket_keys) {
    Context context(SSL_CTX_new(TLS_server_method()));
    if (!context) throw std::bad_alloc();
    set_protocols(context.get());
    SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
    SSL_CTX_set_read_ahead(context.get(), 1);  // reads header and body of a record at once
    SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    ticket_keys.use_for(context.get());
    return context;
}

// RFC 6066 §3: an unknown host name is no reason to close. The client sees the certificate and
// decides.
int Certificates::choose(SSL* ssl, int*, void* certificates) {
    const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (!name) return SSL_TLSEXT_ERR_NOACK;
    SSL_set_SSL_CTX(ssl, static_cast<const Certificates*>(certificates)->of_host(name));
    return SSL_TLSEXT_ERR_OK;
}

// A context takes a certificate for each type of key, and OpenSSL chooses the one that the client
// can verify.
SSL_CTX* Certificates::of_names(const SSL_CTX* other) const {
    for (const Context& context : contexts_) {
        if (have_same_names(context.get(), other)) return context.get();
    }
    return nullptr;
}

SSL_CTX* Certificates::of_host(const char* name) const {
    for (const Context& context : contexts_) {
        X509* const cert = SSL_CTX_get0_certificate(context.get());
        if (X509_check_host(cert, name, 0, 0, nullptr) == 1) return context.get();
    }
    return first();
}

}  // namespace web
