//! The socket of a connection, plain or inside TLS, read and written in short ticks.
//!
//! Place in the data path: below `channel.rs`. A read or write that cannot go on for one tick returns
//! `None`, so that the caller can look at its deadline and at the other direction.
//!
//! Invariant: the socket is in blocking mode with both timeouts set to one tick, except within
//! [`Stream::read_now`].

use rustls::ClientConnection;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The longest time a read or write blocks before the caller's limits are looked at.
pub(super) const TICK: Duration = Duration::from_millis(20);
/// Bytes offered to the kernel in one write.
const WRITE_BYTES: usize = 256 * 1024;

#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn set_ticks(&self) -> io::Result<()> {
        match self {
            Socket::Tcp(s) => {
                s.set_read_timeout(Some(TICK))?;
                s.set_write_timeout(Some(TICK))
            }
            Socket::Unix(s) => {
                s.set_read_timeout(Some(TICK))?;
                s.set_write_timeout(Some(TICK))
            }
        }
    }

    fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        match self {
            Socket::Tcp(s) => s.set_nonblocking(on),
            Socket::Unix(s) => s.set_nonblocking(on),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => s.read(buf),
            Socket::Unix(s) => s.read(buf),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => s.write(buf),
            Socket::Unix(s) => s.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket and, after a handshake, the TLS session over it.
#[derive(Debug)]
pub(super) struct Stream {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
}

/// `None` for the errors that only mean "not within this tick".
fn tick<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e)
            if matches!(
                e.kind(),
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
            ) =>
        {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

fn tls_error(error: rustls::Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}

impl Stream {
    pub(super) fn new(socket: Socket) -> io::Result<Stream> {
        socket.set_ticks()?;
        Ok(Stream { socket, tls: None })
    }

    pub(super) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Puts a TLS session over the socket; the handshake is driven by [`Stream::handshake`].
    pub(super) fn start_tls(&mut self, session: ClientConnection) {
        self.tls = Some(Box::new(session));
    }

    /// One step of the TLS handshake: true when it is complete.
    pub(super) fn handshake(&mut self) -> io::Result<bool> {
        let Some(tls) = self.tls.as_mut() else { return Ok(true) };
        while tls.wants_write() {
            if tick(tls.write_tls(&mut self.socket))?.is_none() {
                return Ok(false);
            }
        }
        if !tls.is_handshaking() {
            return Ok(true);
        }
        match tick(tls.read_tls(&mut self.socket))? {
            Some(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Some(_) => {
                if let Err(error) = tls.process_new_packets() {
                    // Tells the server why; the error to report is ours.
                    let _ = tls.write_tls(&mut self.socket);
                    return Err(tls_error(error));
                }
            }
            None => {}
        }
        Ok(!tls.is_handshaking() && !tls.wants_write())
    }

    /// Reads what is there: `Some(0)` is the end of the stream, `None` means nothing within a tick.
    pub(super) fn read(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(tls) = self.tls.as_mut() else { return tick(self.socket.read(buf)) };
        loop {
            match tls.reader().read(buf) {
                Ok(n) => return Ok(Some(n)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(Some(0)),
                Err(e) => return Err(e),
            }
            match tick(tls.read_tls(&mut self.socket))? {
                Some(_) => {
                    tls.process_new_packets().map_err(tls_error)?;
                }
                None => return Ok(None),
            }
        }
    }

    /// Like [`Stream::read`], without waiting at all.
    pub(super) fn read_now(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        self.socket.set_nonblocking(true)?;
        let result = self.read(buf);
        self.socket.set_nonblocking(false)?;
        result
    }

    /// Writes some of `buf`: `None` means that the peer took nothing for a tick.
    pub(super) fn write(&mut self, buf: &[u8]) -> io::Result<Option<usize>> {
        let buf = buf.get(..WRITE_BYTES).unwrap_or(buf);
        if !self.flush()? {
            return Ok(None);
        }
        match self.tls.as_mut() {
            None => tick(self.socket.write(buf)),
            Some(tls) => {
                let taken = tls.writer().write(buf)?;
                self.flush()?;
                Ok(Some(taken))
            }
        }
    }

    /// Passes on what TLS still holds: false if the peer took nothing for a tick.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        if let Some(tls) = self.tls.as_mut() {
            while tls.wants_write() {
                if tick(tls.write_tls(&mut self.socket))?.is_none() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
