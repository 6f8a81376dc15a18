//! Looks at what is there before anything is done: who is in a group, what the principal may do.

use std::time::Duration;

use rdkafka::consumer::Consumer;

use crate::admin::{Admin, AdminCall, check};
use crate::error::{Error, Result};

/// A consumer group's state as the coordinator names it, and its number of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupInfo {
    pub state: String,
    pub members: usize,
}

/// A group with its members, as the coordinator describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMembers {
    /// "Stable", "Empty", "PreparingRebalance"…
    pub state: String,
    /// What the group is for: `consumer`, `connect` for the workers of Kafka Connect. Stays as it was
    /// when the last member has left.
    pub protocol_type: String,
    pub members: Vec<GroupMember>,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    pub id: String,
    pub client_id: String,
    /// The address it connects from.
    pub host: String,
    /// What it told when it joined, in the form of the group's protocol; none while members join.
    pub metadata: Vec<u8>,
}

/// What the principal may do with a topic. All of it where the cluster has no authorizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicRights {
    pub read: bool,
    pub write: bool,
}

/// Kafka's numbers of operations.
const READ: i32 = 3;
const WRITE: i32 = 4;

impl Admin {
    /// The group's state ("Stable", "Empty", "Dead"…); `None` if the cluster knows no such group.
    pub fn group(&self, group: &str, timeout: Duration) -> Result<Option<GroupInfo>> {
        let what = format!("describe group '{group}'");
        let list = self
            .client
            .fetch_group_list(Some(group), timeout)
            .map_err(|e| self.explain(Error::from_kafka(&e, &what)))?;
        let found = list.groups().iter().find(|g| g.name() == group);
        let info =
            found.map(|g| GroupInfo { state: g.state().to_owned(), members: g.members().len() });
        Ok(info.filter(|g| g.state != "Dead"))
    }

    /// A group and who is in it; `None` if the cluster knows no such group.
    pub fn group_members(&self, group: &str, timeout: Duration) -> Result<Option<GroupMembers>> {
        let what = format!("describe group '{group}'");
        let list = self
            .client
            .fetch_group_list(Some(group), timeout)
            .map_err(|e| self.explain(Error::from_kafka(&e, &what)))?;
        let found = list.groups().iter().find(|g| g.name() == group && g.state() != "Dead");
        Ok(found.map(|found| GroupMembers {
            state: found.state().to_owned(),
            protocol_type: found.protocol_type().to_owned(),
            members: found
                .members()
                .iter()
                .map(|member| GroupMember {
                    id: member.id().to_owned(),
                    client_id: member.client_id().to_owned(),
                    host: member.client_host().to_owned(),
                    metadata: member.metadata().unwrap_or_default().to_vec(),
                })
                .collect(),
        }))
    }

    /// What the principal may do with a topic; `None` where the broker does not tell.
    pub fn topic_rights(&self, name: &str, timeout: Duration) -> Result<Option<TopicRights>> {
        let what = format!("describe topic '{name}'");
        let items = self.call(AdminCall::DescribeTopics(&[name]), &what, timeout)?;
        let Some(item) = items.iter().find(|item| item.name == name) else { return Ok(None) };
        check(item.code, &item.text, &what)?;
        let may = |operation: i32| item.rights.contains(&operation);
        let rights = || TopicRights { read: may(READ), write: may(WRITE) };
        Ok((!item.rights.is_empty()).then(rights))
    }
}
