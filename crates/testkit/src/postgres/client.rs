//! A blocking client for the simple query protocol: text in, text out, nothing prepared.
//!
//! Independent of crate `sql`, whose tests look at the database through it. It knows servers that
//! trust it or ask for a password in clear text, as test servers do.

use std::{
    io::{self, BufReader, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

/// The rows of a result, columns as the server's text, null as `None`.
pub type Rows = Vec<Vec<Option<String>>>;

/// No answer for so long means that the test hangs. Locks that tests hold are shorter.
const PATIENCE: Duration = Duration::from_secs(120);

/// Why a statement or a connection failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The SQLSTATE, empty where the connection broke.
    pub sqlstate: String,
    /// The server's message or the system's.
    pub message: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.sqlstate, self.message)
    }
}

impl std::error::Error for Failure {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self { sqlstate: String::new(), message: error.to_string() }
    }
}

/// One connection.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<TcpStream>,
}

/// What a `postgres://user:password@host:port/database` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) address: String,
    pub(crate) database: String,
}

impl Client {
    /// Connects.
    ///
    /// # Panics
    ///
    /// When that fails.
    #[track_caller]
    pub fn connect(url: &str) -> Self {
        match Self::try_connect(url) {
            Ok(client) => client,
            Err(failure) => panic!("{url}: {failure}"),
        }
    }

    /// Connects, or says why not.
    pub fn try_connect(url: &str) -> Result<Self, Failure> {
        let parts = Self::parts(url);
        let stream = TcpStream::connect(&parts.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut client = Self { stream: BufReader::new(stream) };
        let mut body = vec![0, 3, 0, 0];
        for text in
            ["user", &parts.user, "database", &parts.database, "application_name", "testkit"]
        {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
        body.push(0);
        client.send(None, &body)?;
        client.read_until_ready(&parts.password)?;
        Ok(client)
    }

    /// Runs one or more statements and returns the rows of all, one after the other.
    ///
    /// # Panics
    ///
    /// When the server refuses one.
    #[track_caller]
    pub fn query(&mut self, sql: &str) -> Rows {
        self.run(sql).0
    }

    /// Runs one or more statements and returns how many rows they returned or changed.
    ///
    /// # Panics
    ///
    /// When the server refuses one.
    #[track_caller]
    pub fn execute(&mut self, sql: &str) -> u64 {
        self.run(sql).1
    }

    /// The value of a query with one row and one column.
    ///
    /// # Panics
    ///
    /// When the server refuses it or the result has another shape.
    #[track_caller]
    pub fn value(&mut self, sql: &str) -> Option<String> {
        let rows = self.query(sql);
        match rows.as_slice() {
            [row] if row.len() == 1 => row.first().cloned().flatten(),
            _ => panic!("{sql}: not one value but {rows:?}"),
        }
    }

    /// Like [`query`](Self::query), or why it failed. The connection stays usable after an error
    /// of the server.
    pub fn try_query(&mut self, sql: &str) -> Result<Rows, Failure> {
        Ok(self.try_run(sql)?.0)
    }

    #[track_caller]
    fn run(&mut self, sql: &str) -> (Rows, u64) {
        match self.try_run(sql) {
            Ok(result) => result,
            Err(failure) => panic!("{sql}: {failure}"),
        }
    }

    fn try_run(&mut self, sql: &str) -> Result<(Rows, u64), Failure> {
        let mut body = sql.as_bytes().to_vec();
        body.push(0);
        self.send(Some(b'Q'), &body)?;
        self.read_until_ready("")
    }

    fn read_until_ready(&mut self, password: &str) -> Result<(Rows, u64), Failure> {
        let mut rows = Rows::new();
        let mut count = 0;
        let mut failure = None;
        loop {
            let (tag, body) = match self.receive() {
                Ok(message) => message,
                // What the server said before it closed the connection is the better reason.
                Err(error) => return Err(failure.unwrap_or_else(|| error.into())),
            };
            let mut body = Body(&body);
            match tag {
                b'D' => rows.push(body.row()?),
                b'C' => count += count_of(&body.text()?),
                b'E' => failure = Some(body.failure()?),
                b'G' => self.send(Some(b'f'), b"not for this client\0")?,
                b'R' => match body.int()? {
                    0 => {}
                    3 => self.send(Some(b'p'), format!("{password}\0").as_bytes())?,
                    other => {
                        let message = format!("unsupported authentication method {other}");
                        return Err(Failure { sqlstate: String::new(), message });
                    }
                },
                b'Z' => return failure.map_or(Ok((rows, count)), Err),
                // Notices, parameters, descriptions of columns.
                _ => {}
            }
        }
    }

    fn send(&mut self, tag: Option<u8>, body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(body.len() + 4).map_err(|_| invalid("a message over 4 GiB"))?;
        let mut message = Vec::with_capacity(body.len() + 5);
        message.extend(tag);
        message.extend_from_slice(&length.to_be_bytes());
        message.extend_from_slice(body);
        self.stream.get_mut().write_all(&message)
    }

    fn receive(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        let [tag, length @ ..] = head;
        let length =
            u32::from_be_bytes(length).checked_sub(4).ok_or_else(|| invalid("a length"))?;
        let mut body = vec![0; length as usize];
        self.stream.read_exact(&mut body)?;
        Ok((tag, body))
    }

    /// Takes a url apart.
    ///
    /// # Panics
    ///
    /// When it is not of the form that this kit makes.
    pub(crate) fn parts(url: &str) -> Parts {
        let rest = url
            .strip_prefix("postgres://")
            .or_else(|| url.strip_prefix("postgresql://"))
            .unwrap_or_else(|| panic!("{url}: not a postgres:// url"));
        let (who, place) = rest.rsplit_once('@').unwrap_or(("postgres", rest));
        let (user, password) = who.split_once(':').unwrap_or((who, ""));
        let (address, database) = place.split_once('/').unwrap_or((place, "postgres"));
        let database = database.split('?').next().unwrap_or_default();
        let port = if address.contains(':') { "" } else { ":5432" };
        Parts {
            user: user.to_owned(),
            password: password.to_owned(),
            address: format!("{address}{port}"),
            database: database.to_owned(),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Terminate; a broken connection needs no goodbye.
        let _ = self.send(Some(b'X'), &[]);
    }
}

/// The rest of a message from the server.
struct Body<'a>(&'a [u8]);

impl Body<'_> {
    fn take(&mut self, length: usize) -> io::Result<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(|| invalid("a message"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn int(&mut self) -> io::Result<i32> {
        let bytes = self.take(4)?.try_into().map_err(|_| invalid("a number"))?;
        Ok(i32::from_be_bytes(bytes))
    }

    fn text(&mut self) -> io::Result<String> {
        let end = self.0.iter().position(|&b| b == 0).ok_or_else(|| invalid("a text"))?;
        let text = String::from_utf8_lossy(self.take(end)?).into_owned();
        self.take(1)?;
        Ok(text)
    }

    fn row(&mut self) -> io::Result<Vec<Option<String>>> {
        let bytes = self.take(2)?.try_into().map_err(|_| invalid("a count"))?;
        let mut row = Vec::new();
        for _ in 0..u16::from_be_bytes(bytes) {
            row.push(match usize::try_from(self.int()?) {
                Ok(length) => Some(String::from_utf8_lossy(self.take(length)?).into_owned()),
                Err(_) => None, // -1 is null
            });
        }
        Ok(row)
    }

    fn failure(&mut self) -> io::Result<Failure> {
        let mut failure = Failure { sqlstate: String::new(), message: String::new() };
        loop {
            let field = *self.take(1)?.first().ok_or_else(|| invalid("a field"))?;
            match field {
                0 => return Ok(failure),
                b'C' => failure.sqlstate = self.text()?,
                b'M' => failure.message = self.text()?,
                _ => drop(self.text()?),
            }
        }
    }
}

/// The number that ends a command tag such as `INSERT 0 5`; 0 for a tag without one.
fn count_of(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the server sent {what} that is cut or wrong"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let parts = Client::parts("postgres://me:secret@127.0.0.1:5433/db?sslmode=disable");
        assert_eq!(parts.user, "me");
        assert_eq!(parts.password, "secret");
        assert_eq!(parts.address, "127.0.0.1:5433");
        assert_eq!(parts.database, "db");
        assert_eq!(Client::parts("postgres://me@host").address, "host:5432");
    }

    #[test]
    fn a_tag_without_a_number_counts_nothing() {
        assert_eq!(count_of("INSERT 0 5"), 5);
        assert_eq!(count_of("BEGIN"), 0);
    }

    #[test]
    fn a_cut_message_is_an_error() {
        assert!(Body(&[0, 1, 0, 0, 0, 9, b'x']).row().is_err());
        assert!(Body(b"C23505").failure().is_err());
    }
}
