//! Follows units until something is decided about them: at each signal about one of them that one is looked at again, and
//! all of them now and then.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::readiness::{Readiness, from_info, from_properties};
use super::unit::{UnitInfo, unit_path};
use super::{Connected, Signal};
use crate::basic::clock::Monotonic;

/// Between two looks at all units: a signal may have been missed while the manager was away.
const POLL: Duration = Duration::from_millis(500);

/// The least time between two looks, however many signals come.
const BREATH: Duration = Duration::from_millis(20);

/// Units that are followed. Dropping it ends that.
pub struct Watch {
    systemd: Connected,
    changes: Arc<Changes>,
    units: Vec<String>,
    infos: Vec<UnitInfo>,
    /// The positions of units that have changed since they were looked at.
    due: BTreeSet<usize>,
    /// When the next look is possible, and when the next one at all units is due.
    next: Option<(Instant, Instant)>,
}

/// What changed of the units of one [`Watch`].
#[derive(Debug, Default)]
struct Changes {
    due: Mutex<BTreeSet<usize>>,
    news: Notify,
}

/// All watches of a connection, by the object paths of their units.
#[derive(Debug, Default)]
pub(super) struct Watches(Mutex<HashMap<String, Vec<Follower>>>);

/// A watch, and the position of a unit in it.
type Follower = (Weak<Changes>, usize);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that holds one of these can panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watches {
    pub(super) fn add(&self, systemd: &Connected, units: Vec<String>) -> Watch {
        let changes = Arc::new(Changes::default());
        let mut all = lock(&self.0);
        for (position, unit) in units.iter().enumerate() {
            let watches = all.entry(unit_path(unit)).or_default();
            watches.retain(|(watch, _)| watch.strong_count() > 0);
            watches.push((Arc::downgrade(&changes), position));
        }
        Watch { systemd: systemd.clone(), changes, units, infos: Vec::new(), due: BTreeSet::new(), next: None }
    }

    pub(super) fn hear(&self, signal: &Signal) {
        let all = lock(&self.0);
        let concerned: Vec<&Follower> = match signal {
            Signal::JobRemoved { unit, .. } => all.get(&unit_path(unit)).into_iter().flatten().collect(),
            Signal::UnitChanged(path) => all.get(path).into_iter().flatten().collect(),
            Signal::Reloaded | Signal::Gap => all.values().flatten().collect(),
        };
        for (watch, position) in concerned {
            if let Some(changes) = watch.upgrade() {
                lock(&changes.due).insert(*position);
                changes.news.notify_one();
            }
        }
    }
}

impl Watch {
    /// The states of the units, in their order: at once, then whenever one of them may have changed. Can be dropped and
    /// called again.
    ///
    /// # Errors
    /// What the connection or the manager refuses.
    pub async fn next(&mut self) -> zbus::Result<&[UnitInfo]> {
        if let Some((possible, all)) = self.next {
            sleep_until(possible).await;
            if self.due.is_empty() {
                tokio::select! {
                    () = self.changes.news.notified() => {}
                    () = sleep_until(all) => self.due.extend(0..self.units.len()),
                }
            }
        } else {
            self.due.extend(0..self.units.len());
        }
        self.due.append(&mut lock(&self.changes.due));
        let names: Vec<&str> = self.due.iter().map(|position| self.units[*position].as_str()).collect();
        let began = Instant::now();
        let infos = self.systemd.list(&names).await?;
        // The manager's time is others' as well: a look at a thousand units takes it milliseconds.
        let (now, took) = (Instant::now(), began.elapsed());
        let all = match self.next {
            Some((_, all)) if self.due.len() < self.units.len() => all,
            _ => now + POLL.max(took * 10),
        };
        self.next = Some((now + BREATH.max(took * 4), all));
        match self.infos.is_empty() {
            true => self.infos = infos,
            false => self.due.iter().zip(infos).for_each(|(position, info)| self.infos[*position] = info),
        }
        self.due.clear();
        Ok(&self.infos)
    }

    /// Looks at the units until `decide` returns something.
    ///
    /// # Errors
    /// As [`Watch::next`], and those of `decide`.
    pub async fn until<T, E: From<zbus::Error>>(
        &mut self,
        mut decide: impl AsyncFnMut(&[UnitInfo]) -> Result<Option<T>, E>,
    ) -> Result<T, E> {
        loop {
            if let Some(decision) = decide(self.next().await?).await? {
                return Ok(decision);
            }
        }
    }

    /// Looks at the units until `decide` returns something, which gets what their states mean for a start that began at
    /// `begin`.
    ///
    /// # Errors
    /// As [`Watch::until`].
    pub async fn until_ready<T, E: From<zbus::Error>>(
        &mut self,
        begin: Monotonic,
        mut decide: impl AsyncFnMut(&[(UnitInfo, Readiness)]) -> Result<Option<T>, E>,
    ) -> Result<T, E> {
        let systemd = self.systemd.clone();
        let mut known: Vec<(UnitInfo, Readiness)> = Vec::new();
        self.until(async |infos| {
            let mut before = std::mem::take(&mut known).into_iter();
            let mut unclear = Vec::new();
            for (position, info) in infos.iter().enumerate() {
                let readiness = match (from_info(info), before.next()) {
                    (Some(readiness), _) => readiness,
                    // What has exited stays so; the properties of five hundred units at each look would cost.
                    (None, Some((same, exited @ (Readiness::Exited | Readiness::Skipped)))) if same == *info => exited,
                    (None, _) => {
                        unclear.push(position);
                        Readiness::Exited
                    }
                };
                known.push((info.clone(), readiness));
            }
            let names: Vec<&str> = unclear.iter().map(|position| infos[*position].name.as_str()).collect();
            for (position, properties) in unclear.iter().zip(systemd.properties_of(&names).await?) {
                known[*position].1 = from_properties(&properties, begin);
            }
            decide(&known).await
        })
        .await
    }
}
