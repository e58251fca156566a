//! Tests of `scripts/get` with generated archives: which files it verifies, keeps and installs.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use journeys::environment::printed;
use journeys::metadata::root;
use journeys::sample_project::snapshot;

const VERSION: &str = "7.8.9";
/// A model file that is not in later archives.
const TABLE: &str = "share/throughline/table-v1-0123.bin";

/// Returns the installed shells. Of these, dash supports only POSIX.
fn shells() -> Vec<&'static str> {
    let known = ["/bin/dash", "/bin/sh", "/bin/bash"];
    known.into_iter().filter(|shell| Path::new(shell).exists()).collect()
}

/// Returns the name of the target in the archive for this machine; on Linux, the static one.
fn target() -> String {
    let machine = std::env::consts::ARCH;
    if cfg!(target_os = "macos") {
        format!("{machine}-apple-darwin")
    } else {
        format!("{machine}-unknown-linux-musl")
    }
}

/// A home, and a folder with a release beside the home.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(machine.path("home")).unwrap();
        fs::create_dir_all(machine.path("release")).unwrap();
        machine
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    /// Writes an archive in which `throughline` is the script `program`, with further files, and SHA256SUMS.
    fn releases(&self, version: &str, program: &str, more: &[&str]) -> PathBuf {
        let name = format!("throughline-{version}-{}", target());
        let tree = self.path("tree").join(&name);
        let mut files = BTreeMap::from([
            ("bin/throughline", program),
            ("bin/throughline-stop", "#!/bin/sh\nexit 0\n"),
            ("share/throughline/MODEL", "throughline model 1\n"),
            ("share/throughline-release/get", "#!/bin/sh\n"),
        ]);
        files.extend(more.iter().map(|file| (*file, "made up\n")));
        for (file, text) in files {
            let path = tree.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            let mode = if file.starts_with("bin/") { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let archive = self.path("release").join(format!("{name}.tar.gz"));
        let mut tar = Command::new("tar");
        tar.arg("-czf").arg(&archive).arg("-C").arg(self.path("tree")).arg(&name);
        printed(&mut tar).unwrap();
        fs::remove_dir_all(tree).unwrap();
        let sum = printed(Command::new("sha256sum").arg(&archive))
            .or_else(|_| printed(Command::new("shasum").args(["-a", "256"]).arg(&archive)))
            .unwrap();
        let line = format!("{}  {name}.tar.gz\n", &sum[..64]);
        let sums = self.path("release/SHA256SUMS");
        let before = fs::read_to_string(&sums).unwrap_or_default();
        fs::write(&sums, before + &line).unwrap();
        archive
    }

    fn get(&self, shell: &str, path: &OsStr, arguments: &[&str]) -> Output {
        let mut command = Command::new(shell);
        command.arg(root().join("scripts/get")).args(arguments);
        command.env_clear().env("HOME", self.path("home")).env("PATH", path);
        command.current_dir(self.0.path()).stdin(Stdio::null()).output().unwrap()
    }

    /// Installs from the folder, with each shell in turn.
    fn installs(&self, more: &[&str]) -> Vec<Output> {
        let arguments = [&["--from", "release"][..], more].concat();
        shells().iter().map(|shell| self.get(shell, system_path(), &arguments)).collect()
    }

    fn installed(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        snapshot(&self.path("home")).unwrap()
    }
}

fn system_path() -> &'static OsStr {
    OsStr::new("/usr/local/bin:/usr/bin:/bin:/usr/sbin")
}

fn program(version: &str) -> String {
    format!("#!/bin/sh\necho throughline {version}\n")
}

fn output_text(output: &Output) -> String {
    let (out, errors) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(errors))
}

#[test]
fn shells_read_the_script() {
    for shell in shells() {
        for script in ["scripts/get", "scripts/put.sh", "scripts/build-hooks", "plugin/scripts/run"]
        {
            printed(Command::new(shell).arg("-n").arg(root().join(script))).unwrap();
        }
    }
}

#[test]
fn everything_is_put_in_place_and_one_step_is_named() {
    let machine = Machine::new();
    machine.releases(VERSION, &program(VERSION), &[]);
    for output in machine.installs(&[]) {
        let said = output_text(&output);
        assert!(output.status.success(), "{said}");
        assert!(said.contains("Installed throughline 7.8.9"), "{said}");
        let bin = machine.path("home/.local/bin/throughline");
        assert!(said.ends_with(&format!("&& {} init\n", bin.display())), "{said}");
    }
    let installed = machine.installed();
    let names: Vec<_> = installed.keys().map(|name| name.to_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            ".local/bin/throughline",
            ".local/bin/throughline-stop",
            ".local/share/throughline/MODEL",
            ".local/share/throughline/ORIGIN",
            ".local/share/throughline-release/FILES",
            ".local/share/throughline-release/get",
        ]
    );
    let mode = |name: &str| {
        let path = machine.path("home/.local").join(name);
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode("bin/throughline"), mode("share/throughline/MODEL")), (0o755, 0o644));
    let origin = &installed[Path::new(".local/share/throughline/ORIGIN")];
    let release = machine.path("release").canonicalize().unwrap();
    assert_eq!(String::from_utf8_lossy(origin), format!("--from {}\n", release.display()));
}

#[test]
fn a_wrong_checksum_changes_nothing() {
    let machine = Machine::new();
    let archive = machine.releases(VERSION, &program(VERSION), &[]);
    let mut bytes = fs::read(&archive).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&archive, bytes).unwrap();
    for output in machine.installs(&[]) {
        assert_eq!(output.status.code(), Some(1));
        assert!(
            output_text(&output).contains("does not match, so nothing was installed"),
            "{output:?}"
        );
        assert_eq!(machine.installed(), BTreeMap::new());
    }
}

/// Checks the syntax of all bash scripts, including those that CI seldom runs.
#[test]
fn bash_reads_the_scripts() {
    let mut read = 0;
    for entry in fs::read_dir(root().join("scripts")).unwrap() {
        let path = entry.unwrap().path();
        let is_bash =
            path.is_file() && fs::read_to_string(&path).unwrap().starts_with("#!/usr/bin/env bash");
        if is_bash {
            printed(Command::new("bash").arg("-n").arg(&path)).unwrap();
            read += 1;
        }
    }
    assert!(read >= 10, "{read} scripts");
}

/// The archives have correct checksums, but are for another machine, or were truncated before the checksum was
/// computed.
#[test]
fn programs_that_do_not_run_leave_those_that_were_there() {
    let machine = Machine::new();
    machine.releases("1.0.0", &program("1.0.0"), &[]);
    machine.releases("2.0.0", "#!/bin/sh\necho no such library >&2\nexit 127\n", &[]);
    machine.installs(&["--version", "1.0.0"]);
    let before = machine.installed();
    for output in machine.installs(&["--version", "2.0.0"]) {
        assert_eq!(output.status.code(), Some(1));
        assert!(output_text(&output).contains("do not run here: no such library"), "{output:?}");
        assert_eq!(machine.installed(), before);
    }
}

#[test]
fn a_file_that_cannot_be_written_leaves_all_others() {
    let machine = Machine::new();
    machine.releases("1.0.0", &program("1.0.0"), &[]);
    machine.releases("2.0.0", &program("2.0.0"), &["share/zsh/_throughline"]);
    machine.installs(&["--version", "1.0.0"]);
    // There is a file at the path of a folder.
    fs::write(machine.path("home/.local/share/zsh"), "").unwrap();
    let before = machine.installed();
    for output in machine.installs(&["--version", "2.0.0"]) {
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(machine.installed(), before);
    }
}

#[test]
fn a_newer_version_takes_away_what_it_has_no_more() {
    let machine = Machine::new();
    machine.releases("1.0.0", &program("1.0.0"), &[TABLE, "share/old"]);
    machine.releases("2.0.0", &program("2.0.0"), &["share/throughline/table-v1-4567.bin"]);
    machine.installs(&["--version", "1.0.0"]);
    fs::write(machine.path("home/.local/share/of-others"), "").unwrap();
    let first = machine.installed();
    assert!(first.contains_key(Path::new(".local").join(TABLE).as_path()));
    machine.installs(&["--version", "2.0.0"]);
    let second = machine.installed();
    for gone in [TABLE, "share/old"] {
        assert!(!second.contains_key(Path::new(".local").join(gone).as_path()), "{gone}");
    }
    for kept in ["share/of-others", "share/throughline/table-v1-4567.bin", "bin/throughline"] {
        assert!(second.contains_key(Path::new(".local").join(kept).as_path()), "{kept}");
    }
}

#[test]
fn which_version_is_asked_where_there_are_several() {
    let machine = Machine::new();
    machine.releases("1.0.0", &program("1.0.0"), &[]);
    machine.releases("2.0.0", &program("2.0.0"), &[]);
    for output in machine.installs(&[]) {
        assert_eq!(output.status.code(), Some(1));
        assert!(output_text(&output).contains("choose one with --version"), "{output:?}");
    }
}

#[test]
fn what_it_installed_goes_and_nothing_else() {
    let machine = Machine::new();
    machine.releases(VERSION, &program(VERSION), &[TABLE]);
    machine.installs(&[]);
    let mine = machine.path("home/.local/share/throughline/mine");
    fs::write(&mine, "").unwrap();
    let output = machine.get("/bin/sh", system_path(), &["--uninstall"]);
    assert!(output.status.success(), "{output:?}");
    let left = machine.installed();
    assert_eq!(left.keys().collect::<Vec<_>>(), [Path::new(".local/share/throughline/mine")]);
    assert!(!machine.path("home/.local/share/throughline-release").exists());
    let again = machine.get("/bin/sh", system_path(), &["--uninstall"]);
    assert_eq!(again.status.code(), Some(1));
}

#[test]
fn invalid_command_lines_are_reported() {
    let machine = Machine::new();
    for (arguments, code, expected) in [
        (&[][..], 2, "there is no public place"),
        (&["--from", "release", "--base-url", "https://example.com"], 2, "exclude each other"),
        (&["--base-url", "http://example.com/throughline"], 1, "has to begin with https://"),
        (&["--from", "nowhere"], 1, "nowhere is no folder"),
        (&["--from", "release"], 1, "release/SHA256SUMS cannot be read"),
        (&["--from", "release", "--version", "1/2"], 2, "1/2 is no version"),
        (&["--prefix"], 2, "--prefix needs a value"),
        (&["--frm"], 2, "unknown option --frm"),
    ] {
        for shell in shells() {
            let output = machine.get(shell, system_path(), arguments);
            let said = output_text(&output);
            assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
            assert!(said.contains(expected), "{arguments:?}: {said}");
        }
    }
    assert_eq!(machine.installed(), BTreeMap::new());
}

/// Serves the files of a folder over HTTP until the test ends.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || listener.incoming().flatten().for_each(|peer| answer(peer, &folder)));
    url
}

fn answer(mut peer: TcpStream, folder: &Path) {
    let mut lines = BufReader::new(peer.try_clone().unwrap()).lines().map_while(Result::ok);
    let asked = lines.next().unwrap_or_default();
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let name = asked.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
    let body = fs::read(folder.join(name));
    let status = if body.is_ok() { "200 OK" } else { "404 Not Found" };
    let body = body.unwrap_or_default();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    // An error is ignored, since the client may disconnect.
    drop(peer.write_all(head.as_bytes()).and_then(|()| peer.write_all(&body)));
}

#[test]
fn either_downloader_will_do() {
    let machine = Machine::new();
    machine.releases(VERSION, &program(VERSION), &[]);
    let url = serve(machine.path("release"));
    // For each downloader there is a folder of programs that contains no other downloader.
    let tools = [
        "basename",
        "cat",
        "chmod",
        "cp",
        "dd",
        "dirname",
        "find",
        "grep",
        "gzip",
        "mkdir",
        "mktemp",
        "mv",
        "rm",
        "rmdir",
        "sed",
        "sh",
        "sha256sum",
        "shasum",
        "sort",
        "tar",
        "uname",
    ];
    let mut tried = 0;
    for downloader in ["curl", "wget"] {
        let bin = machine.path(downloader);
        fs::create_dir(&bin).unwrap();
        for tool in tools.iter().chain([&downloader]) {
            let places = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(tool));
            if let Some(place) = places.iter().find(|place| place.exists()) {
                std::os::unix::fs::symlink(place, bin.join(tool)).unwrap();
            }
        }
        if !bin.join(downloader).exists() {
            continue;
        }
        tried += 1;
        let prefix = format!("home/{downloader}");
        let arguments = ["--base-url", &url, "--prefix", &prefix];
        let output = machine.get("/bin/sh", bin.as_os_str(), &arguments);
        assert!(output.status.success(), "{downloader}: {}", output_text(&output));
        assert!(machine.path(&prefix).join("bin/throughline").exists(), "{downloader}");
        let origin = fs::read_to_string(machine.path(&prefix).join("share/throughline/ORIGIN"));
        assert_eq!(origin.unwrap(), format!("--base-url {url}\n"));
        let missing = format!("{url}/elsewhere");
        let arguments = ["--base-url", &missing, "--prefix", &prefix];
        let output = machine.get("/bin/sh", bin.as_os_str(), &arguments);
        assert_eq!(output.status.code(), Some(1), "{downloader}");
        assert!(
            output_text(&output).contains("cannot be downloaded"),
            "{downloader}: {}",
            output_text(&output)
        );
    }
    assert!(tried > 0, "neither curl nor wget is installed");
}
