//! Who is alive in the workers' group: Java workers, workers of ours, or nobody.
//!
//! Both kinds are a group named `group.id`, each of its own protocol; Kafka keeps them from being one
//! group at the same time, but not from being one after the other on the same topics.

use api::{Error, Result};
use kafka::{Admin, ClientSettings, GroupMember, GroupMembers};
use runtime::{Backoff, kafka_error};
use std::fmt;
use std::time::Duration;

const ASK_TIMEOUT: Duration = Duration::from_secs(10);
/// The protocol type of Kafka Connect's workers, and that of consumers, which ours are.
const CONNECT: &str = "connect";
const CONSUMER: &str = "consumer";

/// A worker of Kafka Connect, as its group's coordinator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JavaWorker {
    pub id: String,
    /// The address it connects from.
    pub host: String,
    /// Where its REST interface is; not known while the workers join.
    pub url: Option<String>,
}

impl fmt::Display for JavaWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.url {
            Some(url) => write!(f, "{url} (from {}, member {})", self.host, self.id),
            None => write!(f, "member {} (from {})", self.id, self.host),
        }
    }
}

/// Who has the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Company {
    Nobody,
    Java(Vec<JavaWorker>),
    /// Workers of ours.
    Ours(Vec<GroupMember>),
    /// Members of something else that has the name.
    Others {
        protocol_type: String,
        members: usize,
    },
}

impl Company {
    /// Asks the group's coordinator.
    ///
    /// # Errors
    /// It does not answer, or refuses.
    pub fn look(admin: &Admin, group: &str) -> Result<Company> {
        let found = admin.group_members(group, ASK_TIMEOUT).map_err(kafka_error)?;
        Ok(found.map_or(Company::Nobody, Company::of))
    }

    fn of(group: GroupMembers) -> Company {
        let GroupMembers { protocol_type, members, .. } = group;
        match protocol_type.as_str() {
            _ if members.is_empty() => Company::Nobody,
            CONNECT => {
                let worker = |member: GroupMember| JavaWorker {
                    url: advertised_url(&member.metadata),
                    id: member.id,
                    host: member.host,
                };
                Company::Java(members.into_iter().map(worker).collect())
            }
            CONSUMER => Company::Ours(members),
            _ => Company::Others { protocol_type, members: members.len() },
        }
    }

    /// Refuses where workers of Kafka Connect, or programs that have nothing to do with either, are
    /// in the group.
    ///
    /// # Errors
    /// Of the configuration: who they are, and what to do.
    pub fn without_java(&self, group: &str) -> Result<()> {
        match self {
            Company::Nobody | Company::Ours(_) => Ok(()),
            Company::Java(workers) => {
                let names: Vec<String> = workers.iter().map(ToString::to_string).collect();
                Err(Error::config(format!(
                    "workers of Kafka Connect are alive in group {group}: {}. Two clusters on the \
                     same topics would run every connector twice",
                    names.join("; ")
                ))
                .hint(
                    "stop them (connect-distributed.sh ends with SIGTERM; on Kubernetes scale them \
                     to 0) and run this again; one that was killed is missed after its session.timeout.ms \
                     (10 s)",
                ))
            }
            Company::Others { protocol_type, members } => Err(Error::config(format!(
                "group {group} has {members} members of another kind ({protocol_type})"
            ))
            .hint("group.id must be a name that nothing else has")),
        }
    }

    /// Refuses where workers of ours are in the group.
    ///
    /// # Errors
    /// Of the configuration: who they are (`names`, as they told of themselves), and what to do.
    pub fn without_ours(&self, group: &str, names: &[String]) -> Result<()> {
        let Company::Ours(members) = self else { return Ok(()) };
        let hosts: Vec<&str> = members.iter().map(|member| member.host.as_str()).collect();
        let who = if names.is_empty() { hosts.join(", ") } else { names.join(", ") };
        Err(Error::config(format!("workers of Copycat are alive in group {group}: {who}")).hint(
            "stop them (SIGTERM) and run this again; one that was killed is missed after its \
             session.timeout.ms (6 s)",
        ))
    }
}

/// Refuses to begin where workers of Kafka Connect are alive. Waits for brokers until `stopped`.
///
/// # Errors
/// They are; cancelled.
pub fn no_java_workers(
    admin: &ClientSettings,
    group: &str,
    stopped: &dyn Fn() -> bool,
) -> Result<()> {
    let admin = Admin::new(admin).map_err(kafka_error)?;
    let mut pauses = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
    loop {
        if stopped() {
            return Err(Error::cancelled());
        }
        match Company::look(&admin, group) {
            Ok(company) => return company.without_java(group),
            Err(error) if error.kind == api::ErrorKind::Retriable => {
                let pause = pauses.failed(1.0);
                if pauses.attempts() == 3 {
                    tracing::warn!("who is in group {group}: {}; asked again", error.report());
                }
                crate::distributed::log::rest(pause, stopped);
            }
            Err(error) => return Err(error),
        }
    }
}

/// The URL in what a Java worker tells when it joins: a version, then the URL as length and bytes.
fn advertised_url(metadata: &[u8]) -> Option<String> {
    let length = metadata.get(2..4)?;
    let length = usize::from(u16::from_be_bytes(length.try_into().ok()?));
    let url = metadata.get(4..4 + length)?;
    String::from_utf8(url.to_vec()).ok().filter(|url| !url.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(metadata: &[u8]) -> GroupMember {
        GroupMember {
            id: "connect-1".to_owned(),
            client_id: "connect-h:8083".to_owned(),
            host: "/10.0.0.1".to_owned(),
            metadata: metadata.to_vec(),
        }
    }

    fn group(protocol_type: &str, members: Vec<GroupMember>) -> Company {
        let (state, protocol_type) = ("Stable".to_owned(), protocol_type.to_owned());
        Company::of(GroupMembers { state, protocol_type, members })
    }

    /// The vectors of versions 0 and 1, cut at every place.
    #[test]
    fn java_workers_are_named_by_the_url_they_joined_with() {
        let told =
            b"\x00\x01\x00\x0fhttp://w1:8083/\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff";
        assert_eq!(advertised_url(told).as_deref(), Some("http://w1:8083/"));
        assert_eq!(advertised_url(&told[..19]).as_deref(), Some("http://w1:8083/"));
        for end in 0..19 {
            assert_eq!(advertised_url(&told[..end]), None, "{end}");
        }
        let company = group("connect", vec![member(told), member(&[])]);
        let error = company.without_java("g").unwrap_err();
        for part in [
            "group g",
            "http://w1:8083/ (from /10.0.0.1, member connect-1)",
            "member connect-1 (from",
        ] {
            assert!(error.message.contains(part), "{}", error.message);
        }
        assert!(company.without_ours("g", &[]).is_ok());
    }

    #[test]
    fn a_group_without_members_is_nobodys_whatever_it_was() {
        for protocol in ["connect", "consumer", "", "share"] {
            assert_eq!(group(protocol, Vec::new()), Company::Nobody);
        }
        let ours = group("consumer", vec![member(&[])]);
        assert!(ours.without_java("g").is_ok());
        let error = ours.without_ours("g", &["h:8083".to_owned()]).unwrap_err();
        assert!(error.message.contains("alive in group g: h:8083"), "{}", error.message);
        let others = group("streams", vec![member(&[])]);
        assert!(others.without_java("g").unwrap_err().message.contains("streams"));
    }
}
