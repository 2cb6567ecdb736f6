//! Serves the given file with may_minihttp, whose coroutines run on one worker thread.

mod program;

use std::io;
use std::str::from_utf8;

use may_minihttp::{HttpServer, HttpService, Request, Response};

#[derive(Clone)]
struct Page(&'static str);

impl HttpService for Page {
    fn call(&mut self, request: Request, response: &mut Response) -> io::Result<()> {
        if request.method() == "GET" && request.path() == "/" {
            response.header("Content-Type: text/html; charset=utf-8").body(self.0);
        } else {
            response.status_code(404, "Not Found").body("");
            drop(request.body()); // which takes the body out of the stream
        }
        Ok(())
    }
}

fn main() -> io::Result<()> {
    let job = program::job();
    let page = Page(from_utf8(job.page).expect("a page of text"));
    may::config().set_workers(1).set_worker_pin(false); // we choose its processor
    HttpServer(page).start(job.address)?.wait();
    Ok(())
}
