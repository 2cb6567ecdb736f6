//! Serves the given file with hyper, on tokio's loop for a single thread.

mod program;

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{HeaderValue, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

fn answer(request: &Request<Incoming>, page: &'static [u8]) -> Response<Full<Bytes>> {
    if request.method() != Method::GET || request.uri().path() != "/" {
        let mut missing = Response::new(Full::default());
        *missing.status_mut() = StatusCode::NOT_FOUND;
        return missing;
    }
    let mut found = Response::new(Full::new(Bytes::from_static(page)));
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    found.headers_mut().insert(CONTENT_TYPE, html);
    found
}

async fn serve(program::Job { address, page }: program::Job) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    let mut http = http1::Builder::new();
    // Its deadline for a head needs a timer. Answers to pipelined requests are sent together.
    http.timer(TokioTimer::new()).pipeline_flush(true);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service_fn(move |request| async move {
            Ok::<_, Infallible>(answer(&request, page))
        });
        // A client's failure ends its connection only.
        let connection = http.serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move { connection.await.ok() });
    }
}

fn main() -> io::Result<()> {
    let job = program::job();
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve(job))
}
