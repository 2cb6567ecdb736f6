//! Serves the given file on monoio's loop, with io_uring where the kernel gives it a ring, else with
//! epoll. `monoio driver` prints which.
//!
//! monoio has no HTTP. httparse finds the ends and the fields of requests here, and the few lines
//! below answer them: GET / without a body gets the page, and all else an error and a close.

mod program;

use std::io;
use std::mem::zeroed;
use std::os::fd::FromRawFd;
use std::os::unix::net;
use std::process::exit;
use std::ptr::null_mut;

use httparse::{Header, Request, Status, EMPTY_HEADER};
use monoio::buf::IoBufMut;
use monoio::io::{AsyncReadRent, AsyncWriteRentExt};
use monoio::net::{ListenerOpts, TcpListener, TcpStream, UnixStream};

const MAX_HEAD: usize = 16 * 1024;
const MAX_FIELDS: usize = 64;

/// Answers the complete requests at the start of `input`, and removes them. False if the connection
/// is to be closed once `output` was sent.
fn answer(input: &mut Vec<u8>, output: &mut Vec<u8>, found: &[u8]) -> bool {
    let mut used = 0;
    let mut open = true;
    while open {
        let mut fields = [EMPTY_HEADER; MAX_FIELDS];
        let mut request = Request::new(&mut fields);
        let error = match request.parse(&input[used..]) {
            Ok(Status::Partial) => break,
            Ok(Status::Complete(size)) => {
                used += size;
                open = stays_open(&request);
                reason_to_refuse(&request)
            }
            Err(_) => Some("400 Bad Request"),
        };
        if let Some(status) = error {
            open = false;
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            output.extend_from_slice(head.as_bytes());
        } else {
            output.extend_from_slice(found);
        }
    }
    input.drain(..used);
    open
}

fn reason_to_refuse(request: &Request) -> Option<&'static str> {
    if field(request, "Content-Length").or(field(request, "Transfer-Encoding")).is_some() {
        return Some("501 Not Implemented");
    }
    let known = request.method == Some("GET") && request.path == Some("/");
    (!known).then_some("404 Not Found")
}

/// The only option of Connection that matters here is "close", and HTTP/1.0 implies it.
fn stays_open(request: &Request) -> bool {
    let closes = |header: &Header| header.value.eq_ignore_ascii_case(b"close");
    request.version == Some(1) && !field(request, "Connection").is_some_and(closes)
}

fn field<'a>(request: &'a Request, name: &str) -> Option<&'a Header<'a>> {
    request.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))
}

async fn serve(mut stream: TcpStream, found: &[u8]) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = Vec::with_capacity(MAX_HEAD);
    let mut output = Vec::with_capacity(MAX_HEAD);
    let mut open = true;
    while open && input.len() < MAX_HEAD {
        let filled = input.len();
        let (received, slice) = stream.read(input.slice_mut(filled..MAX_HEAD)).await;
        if received? == 0 {
            break;
        }
        input = slice.into_inner();
        open = answer(&mut input, &mut output, found);
        if !output.is_empty() {
            let (sent, buffer) = stream.write_all(output).await;
            sent?;
            output = buffer;
            output.clear();
        }
    }
    Ok(())
}

/// Waits for SIGTERM as for a client's bytes: under valgrind 3.19, a signal's handler isn't called
/// while the program sleeps in io_uring_enter.
async fn end_on_sigterm() -> io::Result<()> {
    // SAFETY: nothing else owns the descriptor from signalfd(2). It's no socket, but we ask only
    // whether it's readable.
    let signals = unsafe {
        let mut set = zeroed();
        libc::sigaddset(&mut set, libc::SIGTERM);
        libc::sigprocmask(libc::SIG_BLOCK, &set, null_mut());
        net::UnixStream::from_raw_fd(libc::signalfd(-1, &set, libc::SFD_NONBLOCK))
    };
    UnixStream::from_std(signals)?.readable(false).await?;
    exit(0)
}

async fn accept(program::Job { address, page }: program::Job) -> io::Result<()> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\
                        Content-Length: {}\r\n\r\n", page.len());
    let found: &'static [u8] = [head.as_bytes(), page].concat().leak();
    // Without SO_REUSEPORT, which it sets by itself: a port that is taken has to be an error.
    let alone = ListenerOpts::new().reuse_port(false);
    let listener = TcpListener::bind_with_config(address, &alone)?;
    monoio::spawn(end_on_sigterm());
    loop {
        let (stream, _) = listener.accept().await?;
        monoio::spawn(async move { serve(stream, found).await.ok() });
    }
}

fn main() -> io::Result<()> {
    if std::env::args().nth(1).as_deref() == Some("driver") {
        println!("{}", if monoio::utils::detect_uring() { "io_uring" } else { "epoll" });
        return Ok(());
    }
    let job = program::job();
    monoio::RuntimeBuilder::<monoio::FusionDriver>::new().build()?.block_on(accept(job))
}
