//! Power supply and load of the machine, which are reasons to pause questions to a local model.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use memory_store::settings::Pause;

/// Maximum number of power supplies that are read.
const SUPPLIES_MAX: usize = 64;
/// Period of the load average in use.
const LOAD_TIME: Duration = Duration::from_secs(60);

/// Reason to pause questions to a model on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strain {
    /// The machine runs on battery.
    Battery,
    /// Other programs use the machine's processors.
    Load,
}

impl fmt::Display for Strain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Battery => "on battery",
            Self::Load => "other programs keep the processors busy",
        })
    }
}

/// Access to the power supply and the load of a machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Folder with files that describe the machine, instead of the operating system's; only for tests.
    folder: Option<PathBuf>,
    /// The part of the load that this program causes.
    own: Arc<Mutex<OwnLoad>>,
}

impl Machine {
    /// Returns this machine. Test builds must not depend on the actual machine. In these, the variable
    /// `THROUGHLINE_TEST_MACHINE` names a folder with `power_supply/` and `loadavg` in the format of Linux.
    pub fn read(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let folder = get("THROUGHLINE_TEST_MACHINE").filter(|_| cfg!(debug_assertions));
        Self::new(folder.map(PathBuf::from))
    }

    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, own: Arc::new(Mutex::new(OwnLoad::new(Instant::now()))) }
    }

    /// Records the period in which a model on this machine answered a question of this program.
    pub fn answered(&self, begun: Instant, ended: Instant) {
        if let Ok(mut own) = self.own.lock() {
            own.add(begun, ended);
        }
    }

    /// Returns the reason to pause; `None` if there is none.
    pub fn strain(&self, pause: Pause) -> Option<Strain> {
        let own_load = self.own.lock().map_or(0.0, |own| own.load(Instant::now()));
        self.strain_beside(own_load, pause)
    }

    fn strain_beside(&self, own_load: f64, pause: Pause) -> Option<Strain> {
        if pause == Pause::Never {
            return None;
        }
        if self.is_on_battery() {
            return Some(Strain::Battery);
        }
        let is_busy = || self.load().is_some_and(|load| load - own_load > cores());
        (pause == Pause::Auto && is_busy()).then_some(Strain::Load)
    }

    /// Returns whether a battery is discharging and no other source supplies power.
    fn is_on_battery(&self) -> bool {
        match &self.folder {
            Some(folder) => has_only_battery(&folder.join("power_supply")),
            None if cfg!(target_os = "macos") => printed("/usr/bin/pmset", &["-g", "batt"])
                .is_some_and(|text| text.contains("'Battery Power'")),
            None => has_only_battery(Path::new("/sys/class/power_supply")),
        }
    }

    /// Returns the load average of the last minute, if the system reports one.
    fn load(&self) -> Option<f64> {
        let text = match &self.folder {
            Some(folder) => fs::read_to_string(folder.join("loadavg")).ok(),
            None if cfg!(target_os = "macos") => printed("/usr/sbin/sysctl", &["-n", "vm.loadavg"]),
            None => fs::read_to_string("/proc/loadavg").ok(),
        };
        first_number(&text?)
    }
}

/// This program's part of the load average: the load of the program itself and of a local model that answers it, which
/// uses all processors.
#[derive(Clone, Copy, Debug)]
struct OwnLoad {
    /// Fraction of the last minute in which a model answered, weighted in the same way as the load average.
    answering: f64,
    /// Time until which `answering` is computed.
    until: Instant,
}

impl OwnLoad {
    /// Creates the state before the first question.
    fn new(now: Instant) -> Self {
        Self { answering: 0.0, until: now }
    }

    /// Adds an answer that was generated from `begun` to `ended`.
    fn add(&mut self, begun: Instant, ended: Instant) {
        let silent = self.at(begun);
        let weight = weight(ended.saturating_duration_since(begun));
        *self = Self { answering: silent.mul_add(1.0 - weight, weight), until: ended };
    }

    /// Returns this program's part of the load average at this time.
    fn load(&self, now: Instant) -> f64 {
        self.at(now).mul_add(cores(), 1.0)
    }

    fn at(&self, now: Instant) -> f64 {
        self.answering * (1.0 - weight(now.saturating_duration_since(self.until)))
    }
}

/// Returns the weight of the last `time` in the load average, 0 to 1.
fn weight(time: Duration) -> f64 {
    1.0 - (-time.as_secs_f64() / LOAD_TIME.as_secs_f64()).exp()
}

fn cores() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64)
}

/// Returns whether a battery of the machine is discharging and no other power supply is connected, according to a
/// folder in Linux's format.
fn has_only_battery(supplies: &Path) -> bool {
    let Ok(supplies) = fs::read_dir(supplies) else { return false };
    let mut discharges = false;
    for supply in supplies.flatten().take(SUPPLIES_MAX) {
        let value = |name: &str| {
            let text = fs::read_to_string(supply.path().join(name)).unwrap_or_default();
            text.trim().to_owned()
        };
        match &*value("type") {
            // Devices such as a mouse have batteries as well.
            "Battery" => {
                discharges |= value("status") == "Discharging" && value("scope") != "Device"
            }
            _ if value("online") == "1" => return false,
            _ => {}
        }
    }
    discharges
}

/// Returns the first number in a text such as `0.52 0.58 0.59` or `{ 0.52 0.58 0.59 }`.
fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().find_map(|word| word.parse().ok())
}

fn printed(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    let output =
        command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a machine with this load and these supplies. Each supply has a name, and the names and contents of its
    /// files.
    fn machine(supplies: &[(&str, &[(&str, &str)])], load: &str) -> (tempfile::TempDir, Machine) {
        let folder = tempfile::tempdir().unwrap();
        for (supply, values) in supplies {
            let supply = folder.path().join("power_supply").join(supply);
            fs::create_dir_all(&supply).unwrap();
            for (name, value) in *values {
                fs::write(supply.join(name), format!("{value}\n")).unwrap();
            }
        }
        fs::write(folder.path().join("loadavg"), load).unwrap();
        let machine = Machine::new(Some(folder.path().to_owned()));
        (folder, machine)
    }

    #[test]
    fn a_battery_counts_where_it_is_the_only_source() {
        const DISCHARGING: &[(&str, &str)] = &[("type", "Battery"), ("status", "Discharging")];
        const FULL: &[(&str, &str)] = &[("type", "Battery"), ("status", "Not charging")];
        const UNPLUGGED: &[(&str, &str)] = &[("type", "Mains"), ("online", "0")];
        const DOCK: &[(&str, &str)] = &[("type", "USB"), ("online", "1")];
        const MOUSE: &[(&str, &str)] =
            &[("type", "Battery"), ("scope", "Device"), ("status", "Discharging")];
        for (supplies, expected) in [
            (&[][..], false),
            (&[("BAT0", DISCHARGING)], true),
            (&[("AC", UNPLUGGED), ("BAT0", FULL), ("BAT1", DISCHARGING)], true),
            (&[("BAT0", DISCHARGING), ("ucsi-source-psy-1", DOCK)], false),
            (&[("AC", UNPLUGGED), ("BAT0", FULL)], false),
            (&[("hidpp_battery_0", MOUSE)], false),
        ] {
            let (_folder, machine) = machine(supplies, "0.00 0.00 0.00");
            let strain = machine.strain(Pause::Auto);
            assert_eq!(strain, expected.then_some(Strain::Battery), "{supplies:?}");
            assert_eq!(machine.strain(Pause::Battery), strain);
            assert_eq!(machine.strain(Pause::Never), None);
        }
    }

    #[test]
    fn load_counts_beyond_the_processors_and_without_its_own_part() {
        let load = cores() + 1.5;
        for text in
            [format!("{load:.2} 0.10 0.05 1/234 5678\n"), format!("{{ {load:.2} 0.1 0.1 }}")]
        {
            let (_folder, machine) = machine(&[], &text);
            assert_eq!(machine.strain(Pause::Auto), Some(Strain::Load), "{text}");
            assert_eq!(machine.strain_beside(2.0, Pause::Auto), None);
            assert_eq!(machine.strain(Pause::Battery), None);
        }
        let (_folder, machine) = machine(&[], "no number");
        assert_eq!(machine.strain(Pause::Auto), None);
    }

    #[test]
    fn a_model_s_answers_are_part_of_the_load_for_a_while() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut own = OwnLoad::new(start);
        assert!((own.load(at(5)) - 1.0).abs() < 1e-9);
        for answer in 0..60 {
            own.add(at(10 * answer), at(10 * answer + 10));
        }
        assert!((own.load(at(600)) - cores() - 1.0).abs() < 0.01, "{own:?}");
        let later = (own.load(at(660)) - 1.0) / cores();
        assert!((later - (-1.0_f64).exp()).abs() < 0.01, "{later}");
    }
}
