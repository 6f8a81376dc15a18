//! What is measured: the table of all metrics, what each task counts, the text of `/metrics`.
//!
//! Tasks add to atomics once a batch; whoever reads takes what stands there. A reader never makes a task
//! wait, nor the other way round.

mod budget;
mod lag;
mod page;
mod phase;
mod process;
mod startups;
mod table;
mod task;
mod window;
mod write;

pub use budget::Budget;
pub(crate) use lag::{Lags, Progress};
pub use page::{Format, Page};
pub(crate) use phase::{Phase, Watch};
pub use process::write_process;
pub use startups::Startups;
pub use table::{Definition, Group, Kind, Metric};
pub(crate) use task::About;
pub use task::TaskMetrics;
pub use window::Windows;
pub use write::Room;
