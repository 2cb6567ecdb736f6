#pragma once

/* kqueue(2) on Linux: FreeBSD's interface in front of epoll(7), so that the kqueue backends of the
 * checkpoints run where they are written. Promises are those of the manual pages of FreeBSD
 * (man.freebsd.org/kqueue.2) and macOS (xnu, bsd/man/man2/kqueue.2); kqueue_test.cpp quotes them.
 *
 * Where the pages are silent or the kernels differ, it does what FreeBSD's kernel does: an event
 * keeps the flags with which it was added, and only EV_ENABLE enables it. The table of what the
 * four kernels do is in book/src/part2/kqueue.md.
 *
 * Thread-safe: one thread may change a queue while others wait on it.
 *
 * Closing. A queue is closed by close(2), as the manual pages say. What the library holds for it,
 * a little memory and four descriptors, is freed by the next call of kqueue(). close(2) of a
 * watched descriptor removes its kevents, even if a duplicate stays open, and a new file with the
 * same number inherits nothing. A queue is reached by the number that kqueue() returned, in the
 * process that called it: not through dup(2), nor in a child of fork(2).
 *
 * Where Linux does not allow the same:
 * - A socket's error comes in `fflags` with EV_EOF, but on Linux it can only be taken, not looked
 *   at: SO_ERROR is clear then, and recv(2) reports the end of the data.
 * - Times to wait are rounded up to milliseconds.
 * - An event with EV_ONESHOT is not reported if its condition has passed, as on macOS. FreeBSD
 *   reports it.
 *
 * Missing: the other filters, regular files, NOTE_LOWAT, NOTE_ABSTIME and EV_KEEPUDATA.
 */

#include <stdint.h>
#include <time.h>

#define EVFILT_READ (-1)
#define EVFILT_WRITE (-2)
#define EVFILT_TIMER (-7)
#define EVFILT_USER (-11)

/* Of a change: what to do. */
#define EV_ADD 0x0001
#define EV_DELETE 0x0002
#define EV_ENABLE 0x0004
#define EV_DISABLE 0x0008
/* Of a change that adds an event: how to report. Later changes leave these as they are. */
#define EV_ONESHOT 0x0010
#define EV_CLEAR 0x0020
#define EV_RECEIPT 0x0040
#define EV_DISPATCH 0x0080
/* Of an event. */
#define EV_ERROR 0x4000
#define EV_EOF 0x8000

/* EVFILT_TIMER: the unit of `data`; milliseconds if none is given. */
#define NOTE_SECONDS 0x00000001
#define NOTE_MSECONDS 0x00000002
#define NOTE_USECONDS 0x00000004
#define NOTE_NSECONDS 0x00000008

/* EVFILT_USER: what to do with the lower 24 bits, and the trigger. */
#define NOTE_FFNOP 0x00000000U
#define NOTE_FFAND 0x40000000U
#define NOTE_FFOR 0x80000000U
#define NOTE_FFCOPY 0xc0000000U
#define NOTE_FFCTRLMASK 0xc0000000U
#define NOTE_FFLAGSMASK 0x00ffffffU
#define NOTE_TRIGGER 0x01000000U

struct kevent {
    uintptr_t ident;      /* a descriptor, or the caller's number of a timer or user event */
    short filter;         /* EVFILT_… */
    unsigned short flags; /* EV_… */
    unsigned int fflags;  /* NOTE_…, or a socket's error */
    int64_t data;         /* bytes, room, clients that wait, expirations, or an error number */
    void* udata;          /* the caller's, passed through */
    uint64_t ext[4];      /* likewise */
};

#define EV_SET(kevp, ident_, filter_, flags_, fflags_, data_, udata_) \
    do {                                                              \
        struct kevent* ev_set_kev = (kevp);                           \
        ev_set_kev->ident = (uintptr_t)(ident_);                      \
        ev_set_kev->filter = (short)(filter_);                        \
        ev_set_kev->flags = (unsigned short)(flags_);                 \
        ev_set_kev->fflags = (unsigned int)(fflags_);                 \
        ev_set_kev->data = (int64_t)(data_);                          \
        ev_set_kev->udata = (udata_);                                 \
        ev_set_kev->ext[0] = ev_set_kev->ext[1] = 0;                  \
        ev_set_kev->ext[2] = ev_set_kev->ext[3] = 0;                  \
    } while (0)

#ifdef __cplusplus
extern "C" {
#endif

/* A new queue's descriptor, or -1: EMFILE, ENFILE, ENOMEM. A program run by execve(2) does not
 * have it. */
int kqueue(void);

/* Applies the changes in order, then waits for events. Returns how many are in `eventlist`, 0 if
 * the time ran out, or -1: EBADF, EINTR (the changes have been applied), EINVAL, ENOENT, ENOMEM.
 * Without a timeout it waits for ever; with no room for events it does not wait. */
int kevent(int kq, const struct kevent* changelist, int nchanges, struct kevent* eventlist,
           int nevents, const struct timespec* timeout);

#ifdef __cplusplus
}
#endif
