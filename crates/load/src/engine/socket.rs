//! Sockets that never block, and what arrived on them when.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, SockaddrStorage, connect, recvmsg,
    setsockopt, socket, sockopt,
};

/// Room for the kernel's stamp.
pub(super) const CONTROL: usize = 64;

/// Begins a connection; it stands when the socket becomes writable.
pub(super) fn dial(to: SocketAddr) -> Result<TcpStream, Errno> {
    let family = if to.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let fd: OwnedFd =
        socket(family, SockType::Stream, SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC, None)?;
    // Small requests must leave at once.
    setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
    // Where it is refused, reads come without a stamp and are counted as such.
    let _ = setsockopt(&fd, sockopt::ReceiveTimestampns, &true);
    match connect(fd.as_raw_fd(), &SockaddrStorage::from(to)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(TcpStream::from(fd)),
        Err(why) => Err(why),
    }
}

/// Makes the kernel stamp what arrives. It begins to do so for all sockets a little after the first one asks, so one asks
/// before the first connection is made; it must live as long as the run.
pub(crate) fn begin_stamping() -> Option<OwnedFd> {
    let fd = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).ok()?;
    setsockopt(&fd, sockopt::ReceiveTimestampns, &true).ok()?;
    Some(fd)
}

/// Takes what has arrived: how much, and when its last byte came by the kernel's wall clock in nanoseconds.
pub(super) fn receive(
    from: &TcpStream,
    buffer: &mut [u8],
    control: &mut [u8; CONTROL],
) -> io::Result<(usize, Option<u64>)> {
    let mut parts = [IoSliceMut::new(buffer)];
    let got = recvmsg::<()>(from.as_raw_fd(), &mut parts, Some(control), MsgFlags::MSG_DONTWAIT)?;
    let stamp = got.cmsgs().ok().and_then(|mut all| {
        all.find_map(|message| match message {
            ControlMessageOwned::ScmTimestampns(t) => {
                let (seconds, nanos) = (u64::try_from(t.tv_sec()).ok()?, u64::try_from(t.tv_nsec()).ok()?);
                Some(seconds * 1_000_000_000 + nanos)
            }
            _ => None,
        })
    });
    Ok((got.bytes, stamp))
}
