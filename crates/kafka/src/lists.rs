//! Topic-partition lists as librdkafka takes them.

use std::ffi::CString;

use data::TopicPartition;
use rdkafka::{Offset, TopicPartitionList};

use crate::error::{Error, ErrorKind, Result};

/// A C string; one with an inner NUL, which no topic or group has, becomes empty.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

/// Where a group stands in one partition, with the committer's note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    pub tp: TopicPartition,
    /// Offset of the next record to read.
    pub offset: i64,
    /// Free text stored beside the offset; empty is none.
    pub metadata: String,
}

impl Position {
    pub fn new(tp: TopicPartition, offset: i64) -> Position {
        Position { tp, offset, metadata: String::new() }
    }

    pub fn with_metadata(self, metadata: impl Into<String>) -> Position {
        Position { metadata: metadata.into(), ..self }
    }
}

/// One entry of a topic-partition list as the library or a broker filled it in.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) tp: TopicPartition,
    pub(crate) offset: i64,
    pub(crate) metadata: String,
    pub(crate) code: i32,
}

pub(crate) fn partitions<'a>(
    list: impl IntoIterator<Item = &'a TopicPartition>,
) -> TopicPartitionList {
    let mut out = TopicPartitionList::new();
    for tp in list {
        out.add_partition(&tp.topic, tp.partition);
    }
    out
}

pub(crate) fn with_offsets<'a>(
    list: impl IntoIterator<Item = (&'a TopicPartition, i64)>,
) -> Result<TopicPartitionList> {
    let mut out = TopicPartitionList::new();
    for (tp, offset) in list {
        add(&mut out, tp, offset)?;
    }
    Ok(out)
}

pub(crate) fn with_metadata(list: &[Position]) -> Result<TopicPartitionList> {
    let mut out = TopicPartitionList::with_capacity(list.len());
    for position in list {
        add(&mut out, &position.tp, position.offset)?;
        if !position.metadata.is_empty()
            && let Some(mut entry) = out.find_partition(&position.tp.topic, position.tp.partition)
        {
            entry.set_metadata(&position.metadata);
        }
    }
    Ok(out)
}

fn add(list: &mut TopicPartitionList, tp: &TopicPartition, offset: i64) -> Result<()> {
    if offset < 0 {
        let message = format!("offset {offset} for {tp} is negative");
        return Err(Error::new(ErrorKind::Configuration, message));
    }
    list.add_partition_offset(&tp.topic, tp.partition, Offset::Offset(offset))
        .map_err(|e| Error::from_kafka(&e, &format!("offset {offset} for {tp}")))
}
