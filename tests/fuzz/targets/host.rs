//! Texts of this host: what the kernel tells in `/proc`, the table of users, the machine's id.
//!
//! Each is read a second time by hand, from its manual page.

use scalectl::actuator::host::{Whereabouts, key_of, machine_of, whereabouts};
use scalectl::actuator::locks::holder_in;
use scalectl::actuator::procfs;
use scalectl::actuator::signals::ignored_of;
use scalectl::adapters::local;
use scalectl::cli::passwd::{group_of, name_of};
use scalectl::ledger::mount_type;

fn lines(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|byte| *byte == b'\n')
}

/// The words of a line, between blanks of any number.
fn words(line: &[u8]) -> Vec<&[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect()
}

fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// `/proc/PID/stat`: both readers take what follows the last parenthesis, and agree; nothing in the
/// name of a process moves a field.
pub fn proc_stat(data: &[u8]) -> bool {
    let (ours, replicas) = (procfs::parse(data), local::Stat::parse(data));
    let Some(end) = data.iter().rposition(|byte| *byte == b')') else {
        assert_eq!((ours, replicas), (None, None), "a line without a name is none");
        return false;
    };
    let fields = words(&data[end + 1..]);
    // The third field of proc(5) is the first behind the name.
    let field = |of_manual: usize| fields.get(of_manual - 3).copied().unwrap_or_default();
    if let Some(found) = replicas {
        assert_eq!(Some(&found.state), field(3).first());
        assert_eq!(Some(found.session), number(field(6)));
        assert_eq!(Some(found.start_ticks), number(field(22)));
    }
    let Some(found) = ours else { return false };
    assert_eq!(Some(found.pid), data.split(|byte| *byte == b' ').next().and_then(number));
    assert_eq!(Some(found.group), number(field(5)));
    assert_eq!(Some(found.session), number(field(6)));
    assert_eq!(Some(found.start_ticks), number(field(22)));
    let (threads, state) = (number::<u64>(field(20)), field(3));
    let is_over = [&b"Z"[..], b"X", b"x"].contains(&state);
    assert_eq!(found.dead, is_over && threads.is_some_and(|threads| threads < 2), "{found:?}");
    assert_eq!(found.stopped, [&b"T"[..], b"t"].contains(&state), "{found:?}");
    let other = replicas.expect("whoever is seen by one is seen by the other");
    assert_eq!((other.session, other.start_ticks), (found.session, found.start_ticks));
    let name = data.iter().position(|byte| *byte == b'(').map_or(0, |at| at + 1);
    let forged = [&data[..name.min(end)], b"x) Z 1 2 3 (", &data[name.min(end)..]].concat();
    if name < end && name > data.iter().position(|byte| *byte == b' ').unwrap_or(end) {
        assert_eq!(procfs::parse(&forged), ours, "a name moved the fields");
    }
    true
}

/// `/etc/passwd`: the first line that gives the id a name decides, and no other line matters.
pub fn passwd(data: &[u8]) -> bool {
    let mut is_taken = false;
    for uid in [0, 1000, 65_534] {
        let named = |line: &&[u8]| {
            let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
            let name = fields.first().and_then(|name| std::str::from_utf8(name).ok());
            let is_name = name.is_some_and(|name| {
                (1..=256).contains(&name.chars().count())
                    && !name.contains('\0')
                    && !name.starts_with(['#', '+', '-'])
            });
            is_name && fields.get(2).and_then(|id| number::<u32>(id)) == Some(uid)
        };
        let found = name_of(data, uid);
        let first = lines(data).find(named);
        let name = first.map(|line| line.split(|byte| *byte == b':').next().unwrap_or_default());
        assert_eq!(found.map(str::as_bytes), name, "{uid}");
        let beside = [b"\xff\xfe:\xe9:x\n:::::\n", data, b"\nlast:x:1000:1000::/:"].concat();
        assert_eq!(name_of(&beside, uid), found.or((uid == 1000).then_some("last")), "{uid}");
        is_taken |= found.is_some();
    }
    is_taken
}

/// `/proc/self/mountinfo`: the type behind the lone dash of the first line with the device, and no
/// path in another line hides it.
pub fn mountinfo(data: &[u8]) -> bool {
    let mut is_taken = false;
    for device in [(0, 52), (98, 0)] {
        let text = format!("{}:{}", device.0, device.1);
        let kind_of = |line: &[u8]| {
            let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
            let dash = fields.iter().skip(3).position(|field| *field == b"-")? + 3;
            let is_it = fields.get(2) == Some(&text.as_bytes());
            let kind = std::str::from_utf8(fields.get(dash + 1)?).ok()?;
            (is_it && !kind.is_empty()).then(|| kind.to_owned())
        };
        let found = mount_type(data, device);
        assert_eq!(found.map(str::to_owned), lines(data).find_map(kind_of), "{text}");
        let beside = [b"1 2 0:52 / /\xe9 rw -\n1 2 - -\n", data].concat();
        assert_eq!(mount_type(&beside, device), found, "{text}");
        is_taken |= found.is_some();
    }
    is_taken
}

/// `/proc/self/status`: the mask of the first line of that name, in hexadecimal digits; a name of a
/// process hides nothing.
pub fn proc_status(data: &[u8]) -> bool {
    let mask = ignored_of(data);
    let line = lines(data).find(|line| line.starts_with(b"SigIgn:"));
    let digits = line.and_then(|line| std::str::from_utf8(&line[7..]).ok()).map_or("", str::trim);
    let digits = digits.strip_prefix('+').unwrap_or(digits).trim_start_matches('0');
    if mask != 0 {
        assert_eq!(format!("{mask:x}"), digits.to_ascii_lowercase());
    }
    assert_eq!(ignored_of(&[b"Name:\t\xe9\xff\n", data].concat()), mask, "a name hides the mask");
    mask != 0
}

/// `/etc/group`: the third field of the first line of that name that has a number there.
pub fn group(data: &[u8]) -> bool {
    let mut is_taken = false;
    for name in ["ops", "root", ""] {
        let found = group_of(data, name);
        let mut numbers = lines(data).filter_map(|line| {
            let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
            let id = fields.get(2).and_then(|id| number::<u32>(id))?;
            (fields[0] == name.as_bytes()).then_some(id)
        });
        assert_eq!(found, numbers.next(), "{name}");
        is_taken |= found.is_some();
    }
    is_taken
}

/// `/proc/locks`: whoever is named as the holder has, on its own line, an exclusive lock of a process
/// (no waiter, no lock of an open file) on that byte of that file.
pub fn proc_locks(data: &[u8]) -> bool {
    let Ok(table) = std::str::from_utf8(data) else { return false };
    let mut is_taken = false;
    for (inode, byte) in [(77, 120), (77, 0), (1, u64::MAX)] {
        let found = holder_in(table, inode, byte);
        let by_hand = lines(data).filter_map(|line| {
            let fields = words(line);
            let [_, b"POSIX", _, b"WRITE", pid, file, first, last] = fields[..] else {
                return None;
            };
            let of_file = file.rsplit(|byte| *byte == b':').next().and_then(number::<u64>);
            let above = last == b"EOF" || number::<u64>(last).is_some_and(|last| byte <= last);
            let below = number::<u64>(first).is_some_and(|first| first <= byte);
            let is_this = of_file == Some(inode) && above && below;
            number::<i32>(pid).filter(|pid| is_this && *pid > 0)
        });
        assert_eq!(found, by_hand.into_iter().next(), "{table:?}");
        let beside = format!("1: OFDLCK ADVISORY WRITE -1 fe:01:77 0 EOF\n{table}");
        assert_eq!(holder_in(&beside, inode, byte), found, "{table:?}");
        is_taken |= found.is_some();
    }
    is_taken
}

/// The machine's id, and the boot id below it: 32 hexadecimal digits and nothing else, and a key
/// that is made of them leads here and not to another boot.
pub fn machine_id(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let (machine, boot) = text.split_once('\n').unwrap_or((text, ""));
    let Some(id) = machine_of(machine) else { return false };
    assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id:?}");
    assert_eq!(id, machine.trim());
    let Ok(key) = key_of(id, boot, 4_026_531_836) else { return false };
    // A boot id of another shape, such as one with a colon, is nobody's: nothing is proved by it.
    if whereabouts(&key, &key) != Whereabouts::Here {
        assert!(boot.trim().is_empty() || boot.contains(':'), "{key}");
        return false;
    }
    let later = key_of(id, "another-boot", 4_026_531_836).expect("a key");
    let expected =
        if boot.trim() == "another-boot" { Whereabouts::Here } else { Whereabouts::DeadBoot };
    assert_eq!(whereabouts(&later, &key), expected, "{key}");
    true
}
