// Serves the given file with uWebSockets, through the C interface of the library that Python's
// socketify contains (scripts/requirements-rivals.txt).

#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

extern "C" {
struct us_socket_context_options_t {
    const char* key_file_name;
    const char* cert_file_name;
    const char* passphrase;
    const char* dh_params_file_name;
    const char* ca_file_name;
    const char* ssl_ciphers;
    int ssl_prefer_low_memory_usage;
};
struct uws_app_listen_config_t {
    int port;
    const char* host;
    int options;
};
void* uws_create_app(int ssl, us_socket_context_options_t options);
void uws_app_get(int ssl, void* app, const char* pattern,
                 void (*handler)(void* response, void* request, void* data), void* data);
void uws_app_listen_with_config(int ssl, void* app, uws_app_listen_config_t config,
                                void (*handler)(void* listener, uws_app_listen_config_t, void*),
                                void* data);
void uws_app_run(int ssl, void* app);
void uws_res_write_header(int ssl, void* response, const char* key, std::size_t key_length,
                          const char* value, std::size_t value_length);
void uws_res_end(int ssl, void* response, const char* data, std::size_t length, bool close);
}

namespace {

void serve(void* response, void*, void* data) {
    constexpr std::string_view name = "Content-Type", type = "text/html; charset=utf-8";
    const auto& page = *static_cast<const std::string*>(data);
    uws_res_write_header(0, response, name.data(), name.size(), type.data(), type.size());
    uws_res_end(0, response, page.data(), page.size(), false);
}

void expect_listener(void* listener, uws_app_listen_config_t, void*) {
    if (listener == nullptr) std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    ::signal(SIGTERM, [](int) { ::_exit(0); });
    std::ifstream file(argv[2], std::ios::binary);
    std::string page{std::istreambuf_iterator<char>(file), {}};
    void* app = uws_create_app(0, {});
    uws_app_get(0, app, "/", serve, &page);
    uws_app_listen_with_config(0, app, {std::atoi(argv[1]), "127.0.0.1", 0}, expect_listener,
                               nullptr);
    uws_app_run(0, app);
}
