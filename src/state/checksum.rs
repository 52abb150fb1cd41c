/// FNV-1a, eight bytes at a time, in hexadecimal: against accidents. Against malice there are the file's owner and mode.
pub(super) fn checksum(bytes: &[u8]) -> String {
    let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    format!("{:016x}", step(words.fold(0xcbf2_9ce4_8422_2325, step), bytes.len() as u64))
}
