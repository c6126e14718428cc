//! A case file from a stranger is a case or an error, and what reads as a case can be written again.
#![no_main]

use std::io::Cursor;

use intriage_case::file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(case) = file::read(bytes) {
        let mut out = Cursor::new(Vec::new());
        file::write(&case, &mut out).unwrap();
        assert_eq!(file::read(&out.into_inner()).unwrap(), case);
    }
});
