//! A proxy in front of PostgreSQL that breaks a connection at an exact point of a transaction.
//!
//! It reads the messages of both sides, so that a fault can be placed before the message that ends a
//! transaction is sent, behind it, or behind the server's answer. A transaction counts when one of
//! its statements contains the mark that the proxy was started with; it ends with the next Sync, or
//! is a simple query.

use std::{
    collections::HashSet,
    io::{self, Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use super::Client;

/// Where in a transaction the fault happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The server never sees the end of the transaction.
    BeforeCommit,
    /// The end is sent and nobody waits for what the server makes of it.
    AtCommit,
    /// The server has committed and its answer is lost.
    AfterCommit,
}

/// What happens at that point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Both sides of the connection are closed.
    Cut,
    /// Both sides stay open and hear nothing more, until the client goes.
    Hold,
}

/// A proxy on a port of its own; it ends with its connections when dropped.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: String,
    mark: String,
    transactions: AtomicU64,
    hits: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    armed: Option<Armed>,
    hanging: bool,
    ended: bool,
    /// Both sockets of each connection, for cutting.
    open: Vec<(TcpStream, TcpStream)>,
}

#[derive(Debug, Clone, Copy)]
struct Armed {
    point: Point,
    fault: Fault,
    skip: u64,
}

impl Proxy {
    /// Starts one in front of the server of `url`. `mark` is a piece of a statement that only the
    /// transactions that count have.
    ///
    /// # Panics
    ///
    /// When no port can be had.
    pub fn start(url: &str, mark: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let shared = Arc::new(Shared {
            target: Client::parts(url).address,
            mark: mark.to_owned(),
            transactions: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let serving = shared.clone();
        thread::spawn(move || serve(&listener, &serving));
        Self { port, shared }
    }

    /// The same database through the proxy.
    pub fn url(&self, url: &str) -> String {
        let parts = Client::parts(url);
        format!("postgres://{}@127.0.0.1:{}/{}", parts.user, self.port, parts.database)
    }

    /// Places one fault into the transaction after the next `skip` ones; it replaces one that has not
    /// happened.
    pub fn arm(&self, point: Point, fault: Fault, skip: u64) {
        self.shared.state().armed = Some(Armed { point, fault, skip });
    }

    /// How many faults have happened.
    pub fn hits(&self) -> u64 {
        self.shared.hits.load(Ordering::Acquire)
    }

    /// How many transactions have been brought to their end by clients.
    pub fn transactions(&self) -> u64 {
        self.shared.transactions.load(Ordering::Acquire)
    }

    /// From now on nothing passes in either direction, and new connections are taken but not
    /// answered.
    pub fn hang(&self) {
        self.shared.state().hanging = true;
    }

    /// Lets everything pass again.
    pub fn resume(&self) {
        self.shared.state().hanging = false;
        self.shared.changed.notify_all();
    }

    /// Closes all connections on both sides.
    pub fn cut_all(&self) {
        for (client, server) in self.shared.state().open.drain(..) {
            cut(&client, &server);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.state().ended = true;
        self.resume();
        self.cut_all();
        // Wakes the thread that accepts connections, which then sees the end.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while_hanging(&self) {
        let mut state = self.state();
        while state.hanging {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Counts the end of a transaction and gives the fault that is due there.
    fn end_of_transaction(&self) -> Option<Armed> {
        self.transactions.fetch_add(1, Ordering::AcqRel);
        let mut state = self.state();
        let armed = state.armed.as_mut()?;
        if armed.skip > 0 {
            armed.skip -= 1;
            return None;
        }
        state.armed.take()
    }

    fn hit(&self) {
        self.hits.fetch_add(1, Ordering::AcqRel);
    }
}

fn serve(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if shared.state().ended {
            return;
        }
        let Ok(client) = client else { continue };
        // A server that is down is seen by the client as a connection that ends at once.
        let Ok(server) = TcpStream::connect(&shared.target) else { continue };
        if let Err(error) = connect(client, server, shared) {
            // Both ends are gone by then; the client will come again.
            drop(error);
        }
    }
}

fn connect(client: TcpStream, server: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    shared.state().open.push((client.try_clone()?, server.try_clone()?));
    let link = Arc::new(Link { shared: shared.clone(), state: Mutex::default() });
    let (up, down) = (link.clone(), link);
    let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        // An error is the end of one side, which ends the other.
        let _ = up.upstream(&from_client, &to_server);
        cut(&from_client, &to_server);
    });
    thread::spawn(move || {
        let _ = down.downstream(&server, &client);
        cut(&client, &server);
    });
    Ok(())
}

fn cut(client: &TcpStream, server: &TcpStream) {
    // Either may be closed already.
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}

/// One connection, as its two threads share it.
struct Link {
    shared: Arc<Shared>,
    state: Mutex<LinkState>,
}

#[derive(Default)]
struct LinkState {
    /// Messages sent that the server ends its answer to with ReadyForQuery; the start is the first.
    asked: u64,
    /// The answer, by that count, that must not reach the client.
    withheld: Option<(u64, Fault)>,
    /// Nothing reaches the client any more.
    deaf: bool,
}

impl Link {
    fn state(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn upstream(&self, client: &TcpStream, mut server: &TcpStream) -> io::Result<()> {
        let mut marked = Marks { mark: &self.shared.mark, names: HashSet::new(), seen: false };
        start_up(client, server)?;
        self.state().asked = 1;
        loop {
            let message = read_message(client)?;
            self.shared.wait_while_hanging();
            marked.look(&message);
            let ends = matches!(message.first(), Some(b'S' | b'Q'));
            let due = if ends && std::mem::take(&mut marked.seen) {
                self.shared.end_of_transaction()
            } else {
                None
            };
            match due {
                Some(Armed { point: Point::BeforeCommit, fault, .. }) => {
                    self.shared.hit();
                    return hold(client, fault);
                }
                Some(Armed { point: Point::AtCommit, fault, .. }) => {
                    self.state().deaf = true;
                    server.write_all(&message)?;
                    self.shared.hit();
                    return hold(client, fault);
                }
                Some(Armed { point: Point::AfterCommit, fault, .. }) => {
                    let mut state = self.state();
                    state.withheld = Some((state.asked + 1, fault));
                }
                None => {}
            }
            if ends {
                self.state().asked += 1;
            }
            server.write_all(&message)?;
        }
    }

    fn downstream(&self, mut server: &TcpStream, mut client: &TcpStream) -> io::Result<()> {
        let mut answered = 0;
        // Before the start is over the server may send one byte without a length: the refusal of TLS.
        let mut first = [0];
        server.read_exact(&mut first)?;
        if first == *b"N" {
            self.shared.wait_while_hanging();
            client.write_all(&first)?;
            server.read_exact(&mut first)?;
        }
        let mut message = read_rest(server, first[0])?;
        loop {
            self.shared.wait_while_hanging();
            let LinkState { withheld, deaf, .. } = *self.state();
            let ready = message.first() == Some(&b'Z');
            answered += u64::from(ready);
            match withheld {
                Some((number, fault)) if ready && answered == number => {
                    self.shared.hit();
                    return hold(server, fault);
                }
                _ if deaf => {}
                _ => client.write_all(&message)?,
            }
            message = read_message(server)?;
        }
    }
}

/// Statements with the mark: seen directly, or by the name they were prepared under.
struct Marks<'a> {
    mark: &'a str,
    names: HashSet<Vec<u8>>,
    seen: bool,
}

impl Marks<'_> {
    fn look(&mut self, message: &[u8]) {
        let body = message.get(5..).unwrap_or_default();
        let mut texts = body.split(|&byte| byte == 0);
        match message.first() {
            Some(b'P') => {
                let (name, sql) = (texts.next().unwrap_or_default(), texts.next());
                let marked = String::from_utf8_lossy(sql.unwrap_or_default()).contains(self.mark);
                if marked {
                    self.names.insert(name.to_vec());
                } else {
                    self.names.remove(name);
                }
            }
            Some(b'B') => {
                let statement = texts.nth(1).unwrap_or_default();
                self.seen |= self.names.contains(statement);
            }
            Some(b'Q') => self.seen |= String::from_utf8_lossy(body).contains(self.mark),
            _ => {}
        }
    }
}

/// The client's messages before the protocol proper have no type byte.
fn start_up(mut client: &TcpStream, mut server: &TcpStream) -> io::Result<()> {
    const PROTOCOL_3: [u8; 2] = [0, 3];
    loop {
        let mut length = [0; 4];
        client.read_exact(&mut length)?;
        let rest = (u32::from_be_bytes(length) as usize).saturating_sub(4);
        let mut body = vec![0; rest.min(1 << 16)];
        client.read_exact(&mut body)?;
        server.write_all(&length)?;
        server.write_all(&body)?;
        if body.starts_with(&PROTOCOL_3) {
            return Ok(());
        }
    }
}

fn read_message(mut stream: &TcpStream) -> io::Result<Vec<u8>> {
    let mut tag = [0];
    stream.read_exact(&mut tag)?;
    read_rest(stream, tag[0])
}

fn read_rest(mut stream: &TcpStream, tag: u8) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let rest = (u32::from_be_bytes(length) as usize).saturating_sub(4);
    let mut message = Vec::with_capacity(rest.min(1 << 20) + 5);
    message.push(tag);
    message.extend_from_slice(&length);
    let read = stream.take(rest as u64).read_to_end(&mut message)?;
    if read < rest {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(message)
}

/// Ends this side at once, or when the other end has gone. What arrives meanwhile is lost.
fn hold(mut stream: &TcpStream, fault: Fault) -> io::Result<()> {
    if fault == Fault::Cut {
        return Ok(());
    }
    let mut lost = [0; 4096];
    stream.set_read_timeout(Some(Duration::from_secs(120)))?;
    while stream.read(&mut lost)? > 0 {}
    Ok(())
}
