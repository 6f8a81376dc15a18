//! Every metric there is: name, kind, labels, help. The one place where a name is written.
//!
//! `/metrics`, the reference page and the checks of the dashboard and the alert rules read this table.
//! Kafka Connect's own metrics have the names that the usual configuration of the JMX exporter gives
//! them; ours begin with `copycat_`. Counters end in `_total`. Those of Connect's that count and do not
//! end so are untyped, as the JMX exporter has them.

/// What the values of a metric are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Goes up from the start of the task or the worker.
    Counter,
    Gauge,
    /// Not said: a counter whose name cannot be one's.
    Untyped,
}

impl Kind {
    /// As the text format of Prometheus says it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Untyped => "untyped",
        }
    }
}

/// What belongs together; a heading of the reference page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Worker,
    Cluster,
    Connector,
    Task,
    Source,
    Sink,
    Errors,
    Client,
    Copycat,
    Process,
}

impl Group {
    pub const ALL: [Group; 10] = [
        Group::Worker,
        Group::Cluster,
        Group::Connector,
        Group::Task,
        Group::Source,
        Group::Sink,
        Group::Errors,
        Group::Client,
        Group::Copycat,
        Group::Process,
    ];

    /// What it has, and which group of Kafka Connect's it is.
    pub fn title(self) -> &'static str {
        match self {
            Group::Worker => "Worker (`connect-worker-metrics`, `app-info`)",
            Group::Cluster => "Clusters of workers (`connect-worker-rebalance-metrics`)",
            Group::Connector => "Connectors (`connector-metrics`, `connect-worker-metrics`)",
            Group::Task => "Tasks (`connector-task-metrics`)",
            Group::Source => "Source tasks (`source-task-metrics`)",
            Group::Sink => "Sink tasks (`sink-task-metrics`)",
            Group::Errors => "Errors of tasks (`task-error-metrics`)",
            Group::Client => "Kafka clients (`consumer-*-metrics`, `producer-metrics`)",
            Group::Copycat => "Copycat's own",
            Group::Process => "The process",
        }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    pub name: &'static str,
    pub kind: Kind,
    pub group: Group,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

const NONE: &[&str] = &[];
const CONNECTOR: &[&str] = &["connector"];
const TASK: &[&str] = &["connector", "task"];
const CLIENT: &[&str] = &["client_id", "connector", "task"];
const PARTITION: &[&str] = &["connector", "task", "topic", "partition"];

macro_rules! table {
    ($($metric:ident $group:ident $kind:ident $name:literal $labels:expr, $help:literal;)*) => {
        /// A metric, by which its row is found.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Metric { $($metric),* }

        impl Metric {
            /// All of them, in the order of `/metrics`.
            pub const ALL: &'static [Metric] = &[$(Metric::$metric),*];

            pub fn definition(self) -> Definition {
                match self {
                    $(Metric::$metric => Definition {
                        name: $name,
                        kind: Kind::$kind,
                        group: Group::$group,
                        labels: $labels,
                        help: $help,
                    },)*
                }
            }
        }
    };
}

table! {
    BuildInfo Worker Gauge "copycat_build_info" &["version", "commit"],
        "Which build this is; always 1.";
    AppInfo Worker Gauge "kafka_connect_app_info" &["version", "commit_id"],
        "Which build this is, under the name of Kafka Connect; always 1.";
    AppStart Worker Gauge "kafka_connect_app_info_start_time_ms" NONE,
        "When the worker started, in milliseconds since 1970.";
    ConnectorCount Worker Gauge "kafka_connect_worker_connector_count" NONE,
        "Connectors of this worker, stopped ones included.";
    TaskCount Worker Gauge "kafka_connect_worker_task_count" NONE,
        "Tasks of this worker, paused and failed ones included.";
    ConnectorStartAttempts Worker Counter "kafka_connect_worker_connector_startup_attempts_total" NONE,
        "Times that a connector was started.";
    ConnectorStartSuccess Worker Counter "kafka_connect_worker_connector_startup_success_total" NONE,
        "Starts of connectors that succeeded.";
    ConnectorStartSuccessShare Worker Gauge "kafka_connect_worker_connector_startup_success_percentage" NONE,
        "Share of the starts of connectors that succeeded, 0 to 1.";
    ConnectorStartFailure Worker Counter "kafka_connect_worker_connector_startup_failure_total" NONE,
        "Starts of connectors that failed.";
    ConnectorStartFailureShare Worker Gauge "kafka_connect_worker_connector_startup_failure_percentage" NONE,
        "Share of the starts of connectors that failed, 0 to 1.";
    TaskStartAttempts Worker Counter "kafka_connect_worker_task_startup_attempts_total" NONE,
        "Times that a task was started.";
    TaskStartSuccess Worker Counter "kafka_connect_worker_task_startup_success_total" NONE,
        "Starts of tasks that succeeded: the task was RUNNING.";
    TaskStartSuccessShare Worker Gauge "kafka_connect_worker_task_startup_success_percentage" NONE,
        "Share of the starts of tasks that succeeded, 0 to 1.";
    TaskStartFailure Worker Counter "kafka_connect_worker_task_startup_failure_total" NONE,
        "Starts of tasks that failed: the task was FAILED before it was RUNNING.";
    TaskStartFailureShare Worker Gauge "kafka_connect_worker_task_startup_failure_percentage" NONE,
        "Share of the starts of tasks that failed, 0 to 1.";

    ClusterEpoch Cluster Gauge "kafka_connect_worker_rebalance_epoch" NONE,
        "Generation of the group of workers in which this one is, or was last; only of workers of a cluster, like all of these.";
    ClusterRebalances Cluster Counter "kafka_connect_worker_rebalance_completed_rebalances_total" NONE,
        "Times that this worker has come to another generation of the group. Tasks that stay are not stopped for it.";
    ClusterRebalancing Cluster Gauge "kafka_connect_worker_rebalance_rebalancing" NONE,
        "1 while this worker has no place in the group, or has not read yet what was written before; else 0.";
    ClusterSince Cluster Gauge "kafka_connect_worker_rebalance_time_since_last_rebalance_ms" NONE,
        "Time since this worker came to its generation of the group, in milliseconds; +Inf before the first.";
    ClusterLeads Cluster Gauge "copycat_cluster_leads" NONE,
        "1 while this worker leads the cluster, else 0: the sum over the workers is 1, but for the seconds in which another one takes over.";
    ClusterWorkers Cluster Gauge "copycat_cluster_workers" NONE,
        "Workers that are there, as this one knows; missing while not everybody has said so under the present generation.";
    ClusterWaiting Cluster Gauge "copycat_cluster_tasks_without_worker" NONE,
        "Tasks of started connectors that no worker has, or one that is gone; every worker of a cluster tells of all.";

    ConnectorStatus Connector Gauge "kafka_connect_connector_status" &["connector", "status"],
        "1 for the state that the connector has: running, paused, stopped or failed.";
    ConnectorInfo Connector Gauge "kafka_connect_connector_info"
        &["connector", "connector_type", "connector_class", "connector_version"],
        "What the connector is; always 1.";
    ConnectorTasks Connector Gauge "kafka_connect_worker_connector_total_task_count" CONNECTOR,
        "Tasks of the connector.";
    ConnectorRunning Connector Gauge "kafka_connect_worker_connector_running_task_count" CONNECTOR,
        "Tasks of the connector that are RUNNING.";
    ConnectorPaused Connector Gauge "kafka_connect_worker_connector_paused_task_count" CONNECTOR,
        "Tasks of the connector that are PAUSED.";
    ConnectorFailed Connector Gauge "kafka_connect_worker_connector_failed_task_count" CONNECTOR,
        "Tasks of the connector that are FAILED.";
    ConnectorUnassigned Connector Gauge "kafka_connect_worker_connector_unassigned_task_count" CONNECTOR,
        "Tasks of the connector that are UNASSIGNED: about to start, or ended.";
    ConnectorDestroyed Connector Gauge "kafka_connect_worker_connector_destroyed_task_count" CONNECTOR,
        "Tasks of the connector that are DESTROYED.";
    ConnectorRestarting Connector Gauge "kafka_connect_worker_connector_restarting_task_count" CONNECTOR,
        "Tasks of the connector that are RESTARTING.";

    TaskStatus Task Gauge "kafka_connect_connector_task_status" &["connector", "task", "status"],
        "1 for the state that the task has: running, paused, failed, unassigned, restarting or destroyed.";
    RunningRatio Task Gauge "kafka_connect_connector_task_running_ratio" TASK,
        "Share of the time since the task was made in which it was RUNNING, 0 to 1.";
    PauseRatio Task Gauge "kafka_connect_connector_task_pause_ratio" TASK,
        "Share of the time since the task was made in which it was PAUSED, 0 to 1.";
    CommitMaxTime Task Gauge "kafka_connect_connector_task_offset_commit_max_time_ms" TASK,
        "Longest time that a commit of offsets took, in milliseconds.";
    CommitAvgTime Task Gauge "kafka_connect_connector_task_offset_commit_avg_time_ms" TASK,
        "Mean time that commits of offsets took, in milliseconds.";
    BatchSizeMax Task Gauge "kafka_connect_connector_task_batch_size_max" TASK,
        "Records of the largest batch.";
    BatchSizeAvg Task Gauge "kafka_connect_connector_task_batch_size_avg" TASK,
        "Mean number of records of a batch.";
    CommitFailureShare Task Gauge "kafka_connect_connector_task_offset_commit_failure_percentage" TASK,
        "Share of the commits of offsets that failed, 0 to 1.";
    CommitSuccessShare Task Gauge "kafka_connect_connector_task_offset_commit_success_percentage" TASK,
        "Share of the commits of offsets that succeeded, 0 to 1.";

    SourcePollRate Source Gauge "kafka_connect_source_task_source_record_poll_rate" TASK,
        "Records a second that the task read, before transforms.";
    SourcePollTotal Source Counter "kafka_connect_source_task_source_record_poll_total" TASK,
        "Records that the task read, before transforms.";
    SourceWriteRate Source Gauge "kafka_connect_source_task_source_record_write_rate" TASK,
        "Records a second that Kafka acknowledged.";
    SourceWriteTotal Source Counter "kafka_connect_source_task_source_record_write_total" TASK,
        "Records that Kafka acknowledged; under exactly-once, that were committed.";
    SourcePollMaxTime Source Gauge "kafka_connect_source_task_poll_batch_max_time_ms" TASK,
        "Longest time that a poll took that gave records, in milliseconds.";
    SourcePollAvgTime Source Gauge "kafka_connect_source_task_poll_batch_avg_time_ms" TASK,
        "Mean time that polls took that gave records, in milliseconds.";
    SourceActive Source Gauge "kafka_connect_source_task_source_record_active_count" TASK,
        "Records that were read and are not in Kafka yet.";
    SourceActiveMax Source Gauge "kafka_connect_source_task_source_record_active_count_max" TASK,
        "Most records that were read and not in Kafka yet.";
    SourceActiveAvg Source Gauge "kafka_connect_source_task_source_record_active_count_avg" TASK,
        "Mean number of records that were read and not in Kafka yet.";
    TransactionMin Source Gauge "kafka_connect_source_task_transaction_size_min" TASK,
        "Records of the smallest transaction; under exactly-once only.";
    TransactionMax Source Gauge "kafka_connect_source_task_transaction_size_max" TASK,
        "Records of the largest transaction; under exactly-once only.";
    TransactionAvg Source Gauge "kafka_connect_source_task_transaction_size_avg" TASK,
        "Mean number of records of a transaction; under exactly-once only.";

    SinkReadRate Sink Gauge "kafka_connect_sink_task_sink_record_read_rate" TASK,
        "Records a second that were read from Kafka, before transforms.";
    SinkReadTotal Sink Counter "kafka_connect_sink_task_sink_record_read_total" TASK,
        "Records that were read from Kafka, before transforms.";
    SinkSendRate Sink Gauge "kafka_connect_sink_task_sink_record_send_rate" TASK,
        "Records a second that were given to the connector, after transforms.";
    SinkSendTotal Sink Counter "kafka_connect_sink_task_sink_record_send_total" TASK,
        "Records that were given to the connector, after transforms.";
    SinkPartitions Sink Gauge "kafka_connect_sink_task_partition_count" TASK,
        "Partitions that the task reads.";
    SinkCommitSeqNo Sink Gauge "kafka_connect_sink_task_offset_commit_seq_no" TASK,
        "Number of the latest commit of offsets to the group.";
    SinkCommitRate Sink Gauge "kafka_connect_sink_task_offset_commit_completion_rate" TASK,
        "Commits of offsets to the group a second that succeeded.";
    SinkCommitTotal Sink Counter "kafka_connect_sink_task_offset_commit_completion_total" TASK,
        "Commits of offsets to the group that succeeded.";
    SinkSkipRate Sink Gauge "kafka_connect_sink_task_offset_commit_skip_rate" TASK,
        "Outcomes of commits a second that came after those of later commits.";
    SinkSkipTotal Sink Counter "kafka_connect_sink_task_offset_commit_skip_total" TASK,
        "Outcomes of commits that came after those of later commits.";
    SinkPutMaxTime Sink Gauge "kafka_connect_sink_task_put_batch_max_time_ms" TASK,
        "Longest time that the connector took for a batch, in milliseconds.";
    SinkPutAvgTime Sink Gauge "kafka_connect_sink_task_put_batch_avg_time_ms" TASK,
        "Mean time that the connector took for a batch, in milliseconds.";
    SinkActive Sink Gauge "kafka_connect_sink_task_sink_record_active_count" TASK,
        "Offsets between what was given to the connector and what is stored.";
    SinkActiveMax Sink Gauge "kafka_connect_sink_task_sink_record_active_count_max" TASK,
        "Most offsets between what was given to the connector and what is stored.";
    SinkActiveAvg Sink Gauge "kafka_connect_sink_task_sink_record_active_count_avg" TASK,
        "Mean number of offsets between what was given to the connector and what is stored.";
    SinkLagMax Sink Gauge "kafka_connect_sink_task_sink_record_lag_max" TASK,
        "Lag in records of the task's partition that is furthest behind.";

    RecordFailures Errors Untyped "kafka_connect_task_error_total_record_failures" TASK,
        "Times that a record failed.";
    RecordErrors Errors Untyped "kafka_connect_task_error_total_record_errors" TASK,
        "Records that failed for good.";
    RecordsSkipped Errors Untyped "kafka_connect_task_error_total_records_skipped" TASK,
        "Records that failed and were left out: under errors.tolerance=all.";
    Retries Errors Untyped "kafka_connect_task_error_total_retries" TASK,
        "Times that something outside was tried again.";
    ErrorsLogged Errors Untyped "kafka_connect_task_error_total_errors_logged" TASK,
        "Records that failed and have a line of the error log each.";
    LettersSent Errors Untyped "kafka_connect_task_error_deadletterqueue_produce_requests" TASK,
        "Records that were sent to the dead-letter topic.";
    LettersFailed Errors Untyped "kafka_connect_task_error_deadletterqueue_produce_failures" TASK,
        "Times that sending to the dead-letter topic failed.";
    LastError Errors Gauge "kafka_connect_task_error_last_error_timestamp" TASK,
        "When something failed last, in milliseconds since 1970; 0 if nothing has.";

    ConsumerRecords Client Counter "kafka_consumer_fetch_manager_records_consumed_total" CLIENT,
        "Records that the task's consumer has fetched.";
    ConsumerBytes Client Counter "kafka_consumer_fetch_manager_bytes_consumed_total" CLIENT,
        "Bytes of keys, values and headers that the task's consumer has fetched.";
    ConsumerLagMax Client Gauge "kafka_consumer_fetch_manager_records_lag_max" CLIENT,
        "Most records between a partition's end and what the consumer has fetched of it.";
    ConsumerPartitions Client Gauge "kafka_consumer_coordinator_assigned_partitions" CLIENT,
        "Partitions that the group has given to the consumer.";
    ConsumerRebalances Client Counter "kafka_consumer_coordinator_rebalance_total" CLIENT,
        "Times that the group has given partitions to the consumer or taken them.";
    ProducerRecords Client Counter "kafka_producer_record_send_total" CLIENT,
        "Records that the task's producer has sent and Kafka acknowledged.";
    ProducerErrors Client Counter "kafka_producer_record_error_total" CLIENT,
        "Records that the task's producer has sent and Kafka refused.";

    TaskRead Copycat Counter "copycat_task_records_read_total" TASK,
        "Records that the task has read: a sink's from Kafka, a source's from its source.";
    TaskBytes Copycat Counter "copycat_task_bytes_read_total" TASK,
        "Bytes of the records that the task has read.";
    TaskStored Copycat Counter "copycat_task_records_stored_total" TASK,
        "Rows or records that are safe in the destination.";
    TaskLetters Copycat Counter "copycat_task_dead_letters_total" TASK,
        "Records that failed and were reported: they are in the dead letters or, without these, in the log.";
    TaskIgnored Copycat Counter "copycat_task_values_ignored_total" TASK,
        "Values that were left out on purpose: fields without a column.";
    TaskRetries Copycat Counter "copycat_task_retries_total" TASK,
        "Times that something outside was tried again.";
    TaskRetrying Copycat Gauge "copycat_task_retrying" TASK,
        "1 while the task waits for something outside, which it tries again and again.";
    TaskStage Copycat Counter "copycat_task_stage_seconds_total" &["connector", "task", "stage"],
        "Time that the task has spent in a stage: fetch, decode, transform, encode, write, commit. A sink fetches on a thread of its own.";
    TaskQueue Copycat Gauge "copycat_task_queue_bytes" TASK,
        "Bytes of records that wait in the task's queue.";
    TaskLag Copycat Gauge "copycat_task_lag_records" TASK,
        "Records between the ends of the task's partitions and what is stored of them; missing while that is not known.";
    TaskAge Copycat Gauge "copycat_task_oldest_unread_age_seconds" TASK,
        "Age of the oldest record that is not stored yet, by its timestamp; 0 if there is none, missing while that is not known.";
    PartitionLag Copycat Gauge "copycat_partition_lag_records" PARTITION,
        "Records between the end of the partition and what is stored of it.";
    PartitionSeconds Copycat Gauge "copycat_partition_lag_seconds" PARTITION,
        "Age of the partition's oldest record that is not stored yet, by its timestamp; 0 if there is none.";
    PartitionOffset Copycat Gauge "copycat_partition_stored_offset" PARTITION,
        "Offset before which everything of the partition is stored or reported.";
    PartitionsLeftOut Copycat Gauge "copycat_metrics_partitions_left_out" NONE,
        "Partitions that have no series of their own, because there are too many.";
    WorkerQueue Copycat Gauge "copycat_worker_queue_bytes" NONE,
        "Bytes of records that wait in the queues of all tasks.";
    WorkerQueueMax Copycat Gauge "copycat_worker_queue_bytes_max" NONE,
        "Bytes that may wait in the queues of all tasks: copycat.queue.bytes.max.";
    RegistryRequests Copycat Counter "copycat_schema_registry_requests_total" NONE,
        "Requests to Schema Registries, of all tasks together: each schema is asked for once.";
    RegistryFailures Copycat Counter "copycat_schema_registry_failures_total" NONE,
        "Requests to Schema Registries that had no usable answer: refused connections, time-outs, 5xx, wrong logins.";
    RegistrySeconds Copycat Counter "copycat_schema_registry_request_seconds_total" NONE,
        "Time that was spent in requests to Schema Registries, failed ones included.";
    RegistryKnown Copycat Counter "copycat_schema_registry_cache_hits_total" NONE,
        "Look-ups of schemas that needed no request, since the answer was known.";

    ProcessMemory Process Gauge "process_resident_memory_bytes" NONE,
        "Memory that the process has, in bytes.";
    ProcessCpu Process Counter "process_cpu_seconds_total" NONE,
        "Processor time that the process has used, in seconds.";
    ProcessStart Process Gauge "process_start_time_seconds" NONE,
        "When the process started, in seconds since 1970.";
    ProcessFiles Process Gauge "process_open_fds" NONE,
        "Files and connections that the process has open.";
    ProcessThreads Process Gauge "process_threads" NONE,
        "Threads of the process.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_names_and_stand_once() {
        let mut names = BTreeSet::new();
        for metric in Metric::ALL {
            let Definition { name, kind, labels, help, .. } = metric.definition();
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(name.chars().all(plain) && !name.starts_with(char::is_numeric), "{name}");
            assert!(labels.iter().all(|label| label.chars().all(plain)), "{name}");
            assert!(names.insert(name), "{name} stands twice");
            assert!(help.ends_with(|c: char| c == '.' || c.is_alphanumeric()), "{name}");
            assert_eq!(name.ends_with("_total"), kind == Kind::Counter, "{name}");
        }
    }

    #[test]
    fn the_order_is_that_of_the_groups() {
        let groups: Vec<_> = Metric::ALL.iter().map(|metric| metric.definition().group).collect();
        let mut order = groups.clone();
        order.sort_by_key(|group| Group::ALL.iter().position(|other| other == group));
        assert_eq!(groups, order);
    }
}
