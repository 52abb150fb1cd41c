//! The time of day as people read it.
#![allow(unsafe_code, reason = "only the C library knows the local time zone")]

/// `Nov 30 11:07:42`, as journalctl writes it, of microseconds since the epoch in the local time zone (`$TZ`,
/// /etc/localtime; localtime(3)). `None` for a year that no calendar has.
pub(crate) fn local(micros: u64) -> Option<String> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = libc::time_t::try_from(micros / 1_000_000).ok()?;
    let mut broken_down = std::mem::MaybeUninit::<libc::tm>::uninit();
    // SAFETY: both point to values of their types, and are used by nobody else; what was written is read only if the
    // call says that it wrote.
    let tm = unsafe {
        if libc::localtime_r(&raw const seconds, broken_down.as_mut_ptr()).is_null() {
            return None;
        }
        broken_down.assume_init()
    };
    let month = usize::try_from(tm.tm_mon).ok().and_then(|month| MONTHS.get(month))?;
    Some(format!("{month} {:02} {:02}:{:02}:{:02}", tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_moment_reads_as_date_and_time() {
        // 2023-11-14 22:13:20 UTC; in no time zone is the date further away than a day, nor are the seconds others.
        let text = super::local(1_700_000_000_000_000).unwrap();
        assert!(text.starts_with("Nov 1") && text.ends_with(":20") && text.len() == "Nov 14 22:13:20".len(), "{text}");
        assert_eq!(super::local(u64::MAX / 1_000).map(|text| text.len()), Some("Nov 14 22:13:20".len()));
    }
}
