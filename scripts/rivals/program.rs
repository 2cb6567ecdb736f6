//! What the programs share: their two arguments, and how they end.

use std::process::exit;

pub struct Job {
    pub address: (&'static str, u16),
    pub page: &'static [u8],
}

/// The port and the file, as `PROGRAM PORT FILE` names them. SIGTERM ends the process from now on,
/// with exit code 0.
pub fn job() -> Job {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, port, file] = arguments.as_slice() else { exit(2) };
    // SAFETY: the handler only calls _exit, which signal-safety(7) permits.
    unsafe { libc::signal(libc::SIGTERM, end as extern "C" fn(libc::c_int) as libc::sighandler_t) };
    Job {
        address: ("127.0.0.1", port.parse().expect("a port")),
        page: std::fs::read(file).expect("a file that can be read").leak(),
    }
}

extern "C" fn end(_: libc::c_int) {
    // SAFETY: it doesn't return, and runs nothing of ours.
    unsafe { libc::_exit(0) }
}
