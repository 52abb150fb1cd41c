//! Local time.
#![allow(
    unsafe_code,
    reason = "only the C library reads $TZ and /etc/localtime; a crate with time zones would be for this line alone"
)]

/// `Nov 30 11:07:42`, as journalctl prints it, of microseconds since the epoch in the local time zone (localtime(3)).
/// `None` if the year is out of range.
pub(crate) fn local(micros: u64) -> Option<String> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = libc::time_t::try_from(micros / 1_000_000).ok()?;
    let mut tm = std::mem::MaybeUninit::<libc::tm>::uninit();
    // SAFETY: both pointers are to values of their types, which only this function uses. localtime_r() initializes the
    // second unless it returns null.
    let tm = unsafe {
        if libc::localtime_r(&raw const seconds, tm.as_mut_ptr()).is_null() {
            return None;
        }
        tm.assume_init()
    };
    let month = usize::try_from(tm.tm_mon).ok().and_then(|month| MONTHS.get(month))?;
    Some(format!("{month} {:02} {:02}:{:02}:{:02}", tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_time_has_date_and_seconds() {
        // 2023-11-14 22:13:20 UTC; no time zone is more than a day away, or differs in seconds.
        let text = super::local(1_700_000_000_000_000).unwrap();
        assert!(text.starts_with("Nov 1") && text.ends_with(":20") && text.len() == "Nov 14 22:13:20".len(), "{text}");
        assert_eq!(super::local(u64::MAX / 1_000).map(|text| text.len()), Some("Nov 14 22:13:20".len()));
    }
}
